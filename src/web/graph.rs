//! Drawings in boxes and arrows, laid out on the server.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::domain::clean;

/// The size of a box, and the space to the next one beside it and below it, in pixels.
const WIDTH: usize = 190;
const HEIGHT: usize = 52;
const ACROSS: usize = 44;
const DOWN: usize = 14;
/// Characters of a line in a box.
const CHARS: usize = 26;

/// A box with its two lines.
pub(super) struct Node {
    pub(super) head: String,
    pub(super) text: String,
    /// Whether the page is about it.
    pub(super) is_subject: bool,
}

/// The drawing of nodes with an arrow for each pair of positions. A node is right of all nodes with an arrow to it.
pub(super) fn drawn(nodes: &[Node], arrows: &[(usize, usize)], label: &str) -> Markup {
    let places = placed(nodes.len(), arrows);
    let extent = |of: fn(&(usize, usize)) -> usize| places.iter().map(of).max().map_or(0, |most| most + 1);
    let (columns, rows) = (extent(|place| place.0), extent(|place| place.1));
    let (width, height) = (columns * (WIDTH + ACROSS), rows * (HEIGHT + DOWN));
    let corner = |node: usize| (places[node].0 * (WIDTH + ACROSS) + 2, places[node].1 * (HEIGHT + DOWN) + 2);
    html! {
        div.drawn tabindex="0" role="group" aria-label=(label) {
            svg xmlns="http://www.w3.org/2000/svg" aria-hidden="true" width=(width) height=(height) viewBox=(format!("0 0 {width} {height}")) {
                @for (from, to) in arrows { path class="arrow" d=(arrow(corner(*from), corner(*to))) {} }
                @for (at, node) in nodes.iter().enumerate() {
                    @let (x, y) = corner(at);
                    rect class=(if node.is_subject { "box this" } else { "box" }) x=(x) y=(y) width=(WIDTH) height=(HEIGHT) rx="4" {}
                    text x=(x + 8) y=(y + 20) { (clean::cut_words(&clean::revealed(&node.head), CHARS)) }
                    text x=(x + 8) y=(y + 40) { (clean::cut_words(&clean::revealed(&node.text), CHARS)) }
                }
            }
        }
    }
}

/// The path from the right side of a box to the left side of another one, with its head.
fn arrow(from: (usize, usize), to: (usize, usize)) -> String {
    let ((left, top), (right, bottom)) = ((from.0 + WIDTH, from.1 + HEIGHT / 2), (to.0, to.1 + HEIGHT / 2));
    let bend = ACROSS / 2;
    let (out, into) = (left + bend, right.saturating_sub(bend));
    format!("M {left} {top} C {out} {top} {into} {bottom} {} {bottom} m -8 -5 l 8 5 l -8 5", right - 1)
}

/// The column and the row of each node. Rows follow the nodes before, so that few arrows cross.
fn placed(count: usize, arrows: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut columns = vec![0; count];
    // As many rounds as there are nodes end the search even in a circle.
    for _ in 0..count {
        for (from, to) in arrows {
            columns[*to] = columns[*to].max(columns[*from] + 1).min(count - 1);
        }
    }
    let mut by_column: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (node, column) in columns.iter().enumerate() {
        by_column.entry(*column).or_default().push(node);
    }
    let mut rows = vec![0; count];
    for nodes in by_column.values_mut() {
        let middle = |node: usize| {
            let before: Vec<usize> =
                arrows.iter().filter(|(_, to)| *to == node).map(|(from, _)| rows[*from]).collect();
            // Twice the mean, as a whole number.
            (2 * before.iter().sum::<usize>()).checked_div(before.len()).unwrap_or(usize::MAX)
        };
        nodes.sort_by_cached_key(|node| middle(*node));
        for (row, node) in nodes.iter().enumerate() {
            rows[*node] = row;
        }
    }
    columns.into_iter().zip(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::placed;

    #[test]
    fn a_node_is_right_of_those_before_it_and_beside_none_of_them() {
        assert_eq!(placed(0, &[]), []);
        assert_eq!(placed(2, &[]), [(0, 0), (0, 1)]);
        // A diamond, and a way around it.
        let places = placed(5, &[(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (4, 2)]);
        assert_eq!(places, [(0, 0), (1, 0), (1, 1), (2, 0), (0, 1)]);
        // Arrows that would cross in the order of the nodes.
        assert_eq!(placed(4, &[(0, 3), (1, 2)]), [(0, 0), (0, 1), (1, 1), (1, 0)]);
    }

    #[test]
    fn a_circle_is_drawn_too() {
        assert_eq!(placed(2, &[(0, 1), (1, 0)]).len(), 2);
    }
}
