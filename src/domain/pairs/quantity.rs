//! Brings numbers, quantities, rates and times of day into a canonical text.

/// A number with its unit. Two quantities are equal if any of their readings are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quantity {
    /// The number in the smallest unit of its kind.
    pub(super) text: String,
    /// The second reading, with a kilobyte of 1,024 bytes; the first has 1,000.
    pub(super) binary: Option<String>,
}

/// An exact decimal: `mantissa / 10^scale`.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    mantissa: u128,
    scale: u32,
}

/// The most digits of a number; a longer run is an identifier.
const MAX_DIGITS: usize = 18;

impl Decimal {
    fn parse(digits: &str) -> Option<Self> {
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if digits.len() > MAX_DIGITS || digits.matches('.').count() > 1 {
            return None;
        }
        let mantissa = format!("{whole}{fraction}").parse().ok()?;
        Some(Self { mantissa, scale: u32::try_from(fraction.len()).ok()? })
    }

    fn times(self, factor: u128) -> Self {
        Self { mantissa: self.mantissa.saturating_mul(factor), ..self }
    }

    fn text(mut self) -> String {
        while self.scale > 0 && self.mantissa.is_multiple_of(10) {
            self.mantissa /= 10;
            self.scale -= 1;
        }
        match self.scale {
            0 => self.mantissa.to_string(),
            scale => format!("{}e-{scale}", self.mantissa),
        }
    }
}

/// The digits of a plain number: `10.0` is 10. Other fractions stay as written, because `3.10` may be a version.
pub(super) fn plain(figures: &str) -> &str {
    match figures.split_once('.') {
        Some((whole, fraction)) if !whole.is_empty() && fraction.bytes().all(|byte| byte == b'0') => whole,
        _ => figures,
    }
}

/// A plain number without separators. A suffix `k` or `M` multiplies it.
pub(super) fn number(digits: &str, suffix: &str) -> Option<String> {
    let factor = match suffix {
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        _ => return None,
    };
    Some(Decimal::parse(digits)?.times(factor).text())
}

/// A number and its unit ([`unit_of`]).
pub(super) fn quantity(digits: &str, unit: &'static str) -> Quantity {
    let (base, decimal, binary) = scale(unit);
    match Decimal::parse(digits) {
        Some(number) => Quantity {
            text: format!("{}{base}", number.times(decimal).text()),
            binary: (binary != decimal).then(|| format!("{}{base}", number.times(binary).text())),
        },
        None => Quantity { text: format!("{digits}{unit}"), binary: None },
    }
}

/// A count per unit of time: 600 a minute equal 10 a second.
pub(super) fn rate(digits: &str, unit: Option<&'static str>, time: &str) -> Option<Quantity> {
    let in_a_week = match time {
        "s" => 604_800,
        "min" => 10_080,
        "h" => 168,
        "d" => 7,
        "w" => 1,
        _ => return None,
    };
    let number = Decimal::parse(digits)?.times(in_a_week);
    let (base, decimal, binary) = unit.map_or(("", 1, 1), scale);
    Some(Quantity {
        text: format!("{}{base}/w", number.times(decimal).text()),
        binary: (binary != decimal).then(|| format!("{}{base}/w", number.times(binary).text())),
    })
}

/// The time of day in minutes, from `04:30` or `4:30pm`.
pub(super) fn time_of_day(word: &str) -> Option<String> {
    let (clock, later) = match word.strip_suffix("pm") {
        Some(clock) => (clock, true),
        None => (word.strip_suffix("am").unwrap_or(word).trim_end_matches('z'), false),
    };
    let named = clock.len() < word.trim_end_matches('z').len();
    let mut parts = clock.split(':');
    let hours = parts.next()?;
    let minutes = parts.next();
    let is_clock =
        |part: &str, digits| part.len() <= digits && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_clock(hours, 2) || hours.is_empty() || (minutes.is_none() && !named) {
        return None;
    }
    let seconds = parts.next();
    let two = |part: Option<&str>| part.is_none_or(|part| part.len() == 2 && is_clock(part, 2));
    if !two(minutes) || !two(seconds) || parts.next().is_some() {
        return None;
    }
    let hours: u32 = hours.parse().ok()?;
    let minutes: u32 = minutes.map_or(Ok(0), str::parse).ok()?;
    let hours = match (named, later, hours) {
        (true, true, 1..12) => hours + 12,
        (true, false, 12) => 0,
        _ => hours,
    };
    (hours <= 24 && minutes < 60).then(|| format!("{}:{}", hours * 60 + minutes, seconds.unwrap_or("00")))
}

/// One spelling for each unit.
pub(super) fn unit_of(word: &str) -> Option<&'static str> {
    if word.len() > LONGEST_UNIT {
        return None;
    }
    UNITS.iter().find(|(spelling, _)| *spelling == word).map(|(_, unit)| *unit)
}

/// The counted unit and the unit of time of `req/s`, `rps` and `/min`.
pub(super) fn rate_unit(word: &str) -> Option<(&str, &'static str)> {
    let counted = match word {
        "rps" => return Some(("request", "s")),
        "qps" => return Some(("query", "s")),
        "tps" => return Some(("transaction", "s")),
        "rpm" => return Some(("request", "min")),
        _ => word.split_once('/')?,
    };
    let time = unit_of(counted.1).filter(|unit| matches!(*unit, "s" | "min" | "h" | "d" | "w"))?;
    Some((
        match counted.0 {
            "req" | "reqs" => "request",
            other => other,
        },
        time,
    ))
}

/// The smallest unit of its kind, and the two factors to it: the common one, and the one with 1,024 for 1,000.
fn scale(unit: &'static str) -> (&'static str, u128, u128) {
    const K: u128 = 1_000;
    const KI: u128 = 1_024;
    let same = |base, factor| (base, factor, factor);
    match unit {
        "ns" => same("ns", 1),
        "us" => same("ns", K),
        "ms" => same("ns", K * K),
        "s" => same("ns", K * K * K),
        "min" => same("ns", 60 * K * K * K),
        "h" => same("ns", 3_600 * K * K * K),
        "d" => same("ns", 86_400 * K * K * K),
        "w" => same("ns", 604_800 * K * K * K),
        "mo" => same("mo", 1),
        "y" => same("mo", 12),
        "kb" => ("b", K, KI),
        "mb" => ("b", K * K, KI * KI),
        "gb" => ("b", K * K * K, KI * KI * KI),
        "tb" => ("b", K * K * K * K, KI * KI * KI * KI),
        "pb" => ("b", K * K * K * K * K, KI * KI * KI * KI * KI),
        "kib" => same("b", KI),
        "mib" => same("b", KI * KI),
        "gib" => same("b", KI * KI * KI),
        "tib" => same("b", KI * KI * KI * KI),
        "khz" => same("hz", K),
        "mhz" => same("hz", K * K),
        "ghz" => same("hz", K * K * K),
        "kbps" => same("bps", K),
        "mbps" => same("bps", K * K),
        "gbps" => same("bps", K * K * K),
        other => same(other, 1),
    }
}

/// The length of `milliseconds`.
const LONGEST_UNIT: usize = 12;
const UNITS: &[(&str, &str)] = &[
    ("%", "%"),
    ("percent", "%"),
    ("ns", "ns"),
    ("nanosecond", "ns"),
    ("nanoseconds", "ns"),
    ("us", "us"),
    ("\u{3bc}s", "us"),
    ("microsecond", "us"),
    ("microseconds", "us"),
    ("ms", "ms"),
    ("msec", "ms"),
    ("millisecond", "ms"),
    ("milliseconds", "ms"),
    ("s", "s"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("m", "min"),
    ("min", "min"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("h", "h"),
    ("hr", "h"),
    ("hrs", "h"),
    ("hour", "h"),
    ("hours", "h"),
    ("d", "d"),
    ("day", "d"),
    ("days", "d"),
    ("week", "w"),
    ("weeks", "w"),
    ("month", "mo"),
    ("months", "mo"),
    ("year", "y"),
    ("years", "y"),
    ("b", "b"),
    ("byte", "b"),
    ("bytes", "b"),
    ("kb", "kb"),
    ("kilobyte", "kb"),
    ("kilobytes", "kb"),
    ("ki", "kib"),
    ("kib", "kib"),
    ("mb", "mb"),
    ("megabyte", "mb"),
    ("megabytes", "mb"),
    ("mi", "mib"),
    ("mib", "mib"),
    ("gb", "gb"),
    ("gigabyte", "gb"),
    ("gigabytes", "gb"),
    ("gi", "gib"),
    ("gib", "gib"),
    ("tb", "tb"),
    ("ti", "tib"),
    ("tib", "tib"),
    ("pb", "pb"),
    ("x", "x"),
    ("times", "x"),
    ("hz", "hz"),
    ("khz", "khz"),
    ("mhz", "mhz"),
    ("ghz", "ghz"),
    ("kbps", "kbps"),
    ("mbps", "mbps"),
    ("gbps", "gbps"),
    ("px", "px"),
];

#[cfg(test)]
mod tests {
    use super::{Quantity, number, quantity, rate, rate_unit, time_of_day, unit_of};

    fn same(a: &Quantity, b: &Quantity) -> bool {
        let all = |of: &Quantity| [Some(of.text.clone()), of.binary.clone()];
        all(a).iter().flatten().any(|reading| all(b).iter().flatten().any(|other| reading == other))
    }

    #[test]
    fn quantities_are_the_same_in_any_unit() {
        let of = |digits, unit: &str| quantity(digits, unit_of(unit).expect("a unit"));
        assert!(same(&of("1.5", "s"), &of("1500", "ms")));
        assert!(same(&of("2", "gb"), &of("2048", "mb")) && same(&of("2", "gb"), &of("2000", "mb")));
        assert!(same(&of("2", "gib"), &of("2048", "mib")) && same(&of("512", "mi"), &of("0.5", "gi")));
        assert!(same(&of("1", "year"), &of("12", "months")) && same(&of("90", "minutes"), &of("1.5", "h")));
        assert!(!same(&of("2", "gib"), &of("2000", "mib")) && !same(&of("1.5", "s"), &of("15", "s")));
        assert_eq!(number("10", "k"), number("0.01", "M"));
    }

    #[test]
    fn rates_are_the_same_in_any_time() {
        let of = |digits, time| rate(digits, None, time).expect("a rate");
        assert!(same(&of("600", "min"), &of("10", "s")) && !same(&of("100", "min"), &of("100", "s")));
        assert_eq!((rate_unit("req/s"), rate_unit("rps")), (Some(("request", "s")), Some(("request", "s"))));
        assert_eq!((rate_unit("a/b"), rate_unit("mb/sec")), (None, Some(("mb", "s"))));
    }

    #[test]
    fn times_of_day_are_clocks() {
        assert_eq!(time_of_day("04:30"), time_of_day("4:30am"));
        assert_eq!(time_of_day("3pm"), time_of_day("15:00z"));
        let none = ["localhost:80", "0:5000", "5", "12", "a:b", "1:2:3:4", "", "m"].map(time_of_day);
        assert!(none.iter().all(Option::is_none), "{none:?}");
    }
}
