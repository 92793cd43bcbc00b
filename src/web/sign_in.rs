//! The page on which a person signs in with a token.

use maud::{DOCTYPE, Markup, html};

use super::Site;
use super::page::{command, described};

/// The page. After it comes the page at `back`, below the path of the pages.
pub(super) fn page(site: &Site, back: &str, problem: Option<&str>) -> Markup {
    let base = site.base;
    html! {
        (DOCTYPE)
        html lang="en" {
            head { (described(site, "Sign in")) }
            body {
                main #main {
                    h1 { "Sign in" }
                    @if let Some(problem) = problem { p.receipt role="status" { (problem) } }
                    form.filters method="post" action={ (base) "/sign-in" } {
                        input type="hidden" name="back" value=(back);
                        label { "Token " input type="password" name="token" size="24" required maxlength="200" autocomplete="off"; }
                        button { "Sign in" }
                    }
                    p { "The operator makes a token at a terminal. One that reads: " (command("hm token add --agent NAME --role viewer")) }
                    p { "One that also acts, as the operator: " (command("hm token add --agent operator --role admin")) }
                    p { "From the first token on, every client needs one. " (command("hm web")) " opens these pages at that terminal without any." }
                }
            }
        }
    }
}
