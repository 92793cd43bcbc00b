//! Lists of the words that determine the structure of a statement.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use crate::domain::tokens::stemmer;

/// FNV-1a hash. The words are our own, so collision attacks are no concern, and each word of every claim is looked
/// up several times.
#[derive(Debug, Clone)]
pub(super) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A table of words.
pub(super) type Words<K, V> = HashMap<K, V, BuildHasherDefault<Fnv>>;

/// The structural role of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Negation = 1,
    Filler = 1 << 1,
    Link = 1 << 2,
    Label = 1 << 3,
    /// Carries little meaning: another word in its place changes nothing.
    Light = 1 << 4,
    /// Is the verb of a statement.
    Copula = 1 << 5,
    /// Introduces a condition.
    Condition = 1 << 6,
    /// Introduces an exception.
    Exception = 1 << 7,
    /// Stands before a verb in its base form.
    Auxiliary = 1 << 8,
    /// After `not`, marks an open question: `not known whether`.
    Known = 1 << 9,
    /// Names where something runs: another name means another thing.
    Surroundings = 1 << 10,
    /// Starts a reason, or another clause.
    Clause = 1 << 11,
    /// Tells that there are other things too.
    Among = 1 << 12,
    /// Is a copula that is true of several things at once.
    Open = 1 << 13,
}

/// The roles of a word. One lookup covers all lists, because every word of every claim is looked up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Roles(u16);

impl Roles {
    pub(super) fn of(word: &str) -> Self {
        static ROLES: LazyLock<Words<&str, u16>> = LazyLock::new(|| {
            let mut roles = Words::default();
            for (words, role) in LISTS {
                for word in words.split_whitespace() {
                    *roles.entry(word).or_default() |= *role as u16;
                }
            }
            roles
        });
        Self(ROLES.get(word).copied().unwrap_or_default())
    }

    pub(super) const fn has(self, role: Role) -> bool {
        self.0 & role as u16 != 0
    }
}

/// Whether a stem is on a list of [`stems`].
pub(super) struct Stems(LazyLock<HashSet<String, BuildHasherDefault<Fnv>>>);

impl Stems {
    pub(super) fn has(&self, stem: &str) -> bool {
        self.0.contains(stem)
    }
}

fn stems(words: &str) -> HashSet<String, BuildHasherDefault<Fnv>> {
    let stem = stemmer();
    words.split_whitespace().map(stem).collect()
}

/// Verbs of statements about software.
pub(super) static VERB_STEMS: Stems = Stems(LazyLock::new(|| stems(VERBS)));
/// Verbs that are true of several things at once: another object is no contradiction.
pub(super) static OPEN_VERB_STEMS: Stems = Stems(LazyLock::new(|| stems(OPEN_VERBS)));
/// Verbs that state the one place of a thing.
pub(super) static PLACING_STEMS: Stems = Stems(LazyLock::new(|| stems(PLACING)));
/// Verbs whose object is the chosen thing.
pub(super) static CHOOSING_STEMS: Stems = Stems(LazyLock::new(|| stems(CHOOSING)));
/// Words that report a failure.
pub(super) static FAILURE_STEMS: Stems = Stems(LazyLock::new(|| stems(FAILURES)));
/// Words in reports of a failure that say nothing about the approach.
pub(super) static TELLING_STEMS: Stems = Stems(LazyLock::new(|| stems(TELLING)));
/// Words after which a failure is already fixed.
pub(super) static REMEDY_STEMS: Stems = Stems(LazyLock::new(|| stems(REMEDIES)));

/// Words that report an incident. Incidents may happen in several places.
pub(super) static INCIDENT_STEMS: Stems = Stems(LazyLock::new(|| stems(INCIDENTS)));
/// Words that take something back, or limit a statement to a part.
pub(super) static LIMIT_STEMS: Stems = Stems(LazyLock::new(|| stems(LIMITS)));

const LISTS: &[(&str, Role)] = &[
    (NEGATIONS, Role::Negation),
    (FILLERS, Role::Filler),
    (LINKS, Role::Link),
    (LABELS, Role::Label),
    (LIGHT, Role::Light),
    (COPULAS, Role::Copula),
    (CONDITIONS, Role::Condition),
    (EXCEPTIONS, Role::Exception),
    (AUXILIARIES, Role::Auxiliary),
    (KNOWN, Role::Known),
    (SURROUNDINGS, Role::Surroundings),
    (CLAUSES, Role::Clause),
    (AMONG, Role::Among),
    (OPEN_COPULAS, Role::Open),
];

const NEGATIONS: &str = "not no never without cannot cant dont doesnt isnt arent wont didnt wasnt werent hasnt havent \
    shouldnt mustnt neither nor none nothing nobody nowhere hardly";
/// Words that add emphasis or time. None of them reverses a statement.
const FILLERS: &str = "actually already also always currently ever get gets just now really simply so still than today \
    probably likely around about roughly again first very would could may might must them any please therefore thus \
    basically generally normally usually typically";
/// After one of these, a number is a value and no identifier.
const LINKS: &str = "is are was were be turned switched stays defaults default uses use needs requires takes holds set \
    has have runs listens expires to at";
/// After one of these, a number is an identifier.
const LABELS: &str = "adr agent attempt batch bug build case chapter check chunk claim client column command commit \
    decision entry epoch error event fact figure file index issue item iteration job layer line lines \
    migration milestone module node note number option page pane part partition pass pep phase pr \
    process question record replica request rev revision rfc round row rule run scenario section shard \
    slot sprint stage statement step table task test thread ticket tier user variant wave worker write \
    writer zone";
/// Words that may differ between two statements of the same fact.
const LIGHT: &str = "each every its own given actual use uses used using listen listens capped limited restricted bound hold holds held keep keeps kept has have set sets \
    configured defined done run runs go goes make makes take takes need needs stay stays remain remains within across \
    via through per value values respective itself themselves here default \
    defaults equals chosen chose choose pick picked been being stored saved listed specified \
    team our we must should shall will would";
/// Words that are the verb of a statement in every form.
const COPULAS: &str = "is are was were be been becomes became uses use needs requires takes holds has have runs listens \
    expires stays defaults equals means chose kept sent wrote built ran took gave made found began fell held led put read stood \
    says goes lives ships speaks talks wants should must isn't aren't";
const OPEN_COPULAS: &str = "needs requires wants";
const CONDITIONS: &str = "when if while during under unless until once whenever where for";
const EXCEPTIONS: &str = "except unless only besides excluding apart excepting save until";
const AUXILIARIES: &str = "to must should will shall can may might could would not never do does did don't doesn't \
    cannot can't won't we they i you always only please and or";
const KNOWN: &str = "known sure clear checked tested verified measured decided certain confirmed understood established \
    determined investigated settled obvious";
const SURROUNDINGS: &str = "production staging development prod dev ci canary sandbox preview qa test tests";
const CLAUSES: &str = "because since although though whereas while but which so see unless";
const AMONG: &str = "also too may might could can another other others including include includes e.g eg additionally both several some many \
    either else plus alongside";
/// Verbs in base form.
const VERBS: &str = "accept add allow apply archive authenticate authorise authorize back base batch bind block buffer \
    build bundle cache call cap check clone close collect combine come commit compile compress compute \
    configure connect consume contain convert copy count cover cut decode default defer define delegate \
    delete deliver depend deploy derive detect dispatch dispose document download drop emit enable \
    encode encrypt enforce enqueue evaluate evict execute expect expire export expose extend fail fall \
    fetch filter finish flush follow force format forward generate get give go group guard handle happen \
    hash hold host ignore implement import include index inherit initialise initialize inject insert \
    install invoke issue join keep last launch lead leave limit link listen live load locate lock log \
    look lose make manage map mark mask match measure merge migrate mirror mock mount move name need \
    normalise normalize notify offer open order overwrite override own pack page parse pass persist pick \
    pin place point poll pool post prefer prefix process produce protect provide proxy prune publish \
    pull push put query queue raise read rebuild receive record redirect reference refuse register \
    reject release rely remain remove rename render replace replicate report request require reset \
    resolve respond restart restrict retry return reuse roll rotate route run sample sanitise sanitize \
    save scale schedule seed select send separate serialise serialize serve set share shard ship shut \
    sign skip sort spawn speak split stage start stay stop store stream strip submit subscribe support \
    swallow switch sync take target terminate test throw time track transform translate treat trigger \
    truncate trust try turn update upgrade upload use validate verify increase decrease succeed permit forbid deny exclude accept grow shrink abort adapt aggregate alert avoid bump cancel cause change charge close complete crash cross deduplicate delay deny duplicate edit embed end ensure enter escape exceed exit fit fix flag forget fork freeze gain grant hide hit honour honor inline inspect keep kill lack let lift link list lower mean mend mention mutate nest obey observe omit panic parallelise partition patch permit poison precede prevent print probe promote prompt prove query raise ramp rank reach react rebase recover reduce refresh reload repeat reopen reorder reserve resize resume retain revoke rewrite sanitise scan scrape search show sit slice sleep snapshot solve spill spread start strip succeed suffer sum surface suspend swap tag tail tell think tick toggle tolerate touch trap unwrap use vary vendor visit vote wake want work wrap write";
const INCIDENTS: &str = "fail failed fails failure crash panic hang hung hangs deadlock leak race corrupt flaky flake break \
    broke broken stall regress oom segfault bug slow slower pass passes succeed";
const LIMITS: &str = "only fail refuse stop skip avoid lack prevent disable ignore forbid reject deny drop exclude omit miss \
    missing before after first last out off half instead formerly previously unused partial partially almost nearly \
    rarely seldom sometimes occasionally until once cease abandon remove optional unless least most more less fewer \
    manual manually old";
const OPEN_VERBS: &str = "accept support allow handle include contain cover import call depend parse understand recognise \
    recognize offer provide check validate test ignore skip exclude list mention document need require know expose \
    export consist affect break touch see find know help mention try consider work compile import link";
const CHOOSING: &str = "use return raise throw default name call equal mean choose pick pin run prefer target become set is are \
    was be yield launch execute deploy speak print emit serve install write read produce generate output";
const PLACING: &str = "define declare set store keep live locate implement reside document place put save log happen write \
    configure record hold is are be was host";
/// Words for failures.
const FAILURES: &str = "abort bad block break broke broken bug cause corrupt crash deadlock degrade double drop error except \
    exhaust fail failure flaky fool hang hung hurt incompatible infinite leak lose lost miss oom panic \
    race refuse regress reject slow slower stale starve stall undo waste worse wrong thrash blew blow";
/// Words of failure reports.
const TELLING: &str = "approach attempt did made make try tried use work";
/// Words for fixes.
const REMEDIES: &str =
    "avoid cure eliminate fix guard help mitigate prevent reduce remove resolve solve stop";
