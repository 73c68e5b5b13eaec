/* compare.js - two answers next to each other, and what `plait diff` lists */
import {ask} from "./engine.js";
import {make} from "./form.js";

function column(title, one) {
    return make("div", {className: "side"}, make("h3", {}, title), make("p", {className: "answer"}, one.parts.sentence),
                make("dl", {className: "figures"}, ...one.parts.figures.map((figure) => figure.cloneNode(true))),
                make("pre", {tabIndex: 0}, one.line));
}

/* Shows the pinned answer `a` and another one; without `b` only that one is pinned. */
export async function comparison(place, a, b, unpin) {
    place.hidden = !a;
    if (!a)
        return;
    const difference = make("pre", {tabIndex: 0, className: "difference"});
    place.replaceChildren(make("h2", {}, "Comparison"),
        make("p", {}, b ? "Two answers side by side." : "This answer is pinned. Change the question to compare it with another answer.", " ",
             make("button", {type: "button", onclick: unpin}, "Unpin")),
        make("div", {className: "sides"}, column("Pinned", a), b ? column("Compared with", b) : ""));
    if (!b || a.kind !== b.kind || a.kind === "rl")
        return;
    const {out, err} = await ask(["diff", "pinned.json", "compared.json"], {files: {"pinned.json": a.json, "compared.json": b.json}});
    difference.textContent = out || err;
    place.append(make("details", {}, make("summary", {}, "All differences, by plait diff"), difference));
}
