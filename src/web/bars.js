/* bars.js - a bar of stacked parts with its legend, from the rows of a report's table */
import {make} from "./form.js";

const MOST = 7; /* parts with a colour of their own; the rest share one */

/* parts: [{name, value, text, what}]; `free` is the part of the bar that stays empty. */
function bar(title, parts, free) {
    const sorted = parts.filter((part) => part.value > 0).sort((a, b) => b.value - a.value);
    const total = sorted.reduce((sum, part) => sum + part.value, 0) + free;
    const track = make("div", {className: "track", "aria-hidden": "true"}, ...sorted.map((part, i) => {
        const piece = make("span", {className: "c" + Math.min(i, MOST), title: `${part.name}: ${part.text}`});
        piece.style.flexGrow = part.value / total;
        return piece;
    }));
    const empty = make("span", {className: "free"});

    empty.style.flexGrow = free / total;
    track.append(empty);
    return make("div", {className: "bar"}, make("h2", {}, title), track, make("ul", {}, ...sorted.slice(0, MOST).map((part, i) =>
        make("li", {title: part.what || ""}, make("i", {className: "c" + i, "aria-hidden": "true"}), part.name + " ", make("b", {}, part.text)))));
}

function rowsOf(table) {
    const keys = table.columns.map((column) => column.key);
    return table.rows.map((row) => Object.fromEntries(row.map((cell, c) => [keys[c], cell])));
}

const GIB = 2 ** 30;
const percent = (share) => (100 * share).toFixed(share < 0.0995 ? 1 : 0) + " %";

/* The bars that an answer has data for: its own, and those of the tables of its report. */
export function barsOf({tables, bars: own = []}, plan) {
    const bars = own.map(({title, parts}) => bar(title, parts, 0));

    if (tables.step) {
        const rows = rowsOf(tables.step);
        bars.push(bar("Time of a step", rows.map((row) => ({name: row.term, value: row.seconds, what: row.what, text: percent(row.share)})), 0));
    }
    if (tables.memory) {
        const rows = rowsOf(tables.memory);
        const used = rows.reduce((sum, row) => sum + row.bytes, 0);
        bars.push(bar("Memory of the fullest GPU", rows.map((row) => ({
            name: row.part, value: row.bytes, what: row.what, text: (row.bytes / GIB).toFixed(1) + " GiB",
        })), Math.max(0, (plan?.memory?.capacity_bytes || used) - used)));
    }
    if (tables.steps) {
        const rows = rowsOf(tables.steps).filter((row) => row.rank === 1);
        bars.push(bar("Time of a decode step", rows.map((row) => ({name: row.term, value: row.seconds, what: "", text: percent(row.share)})), 0));
    }
    return bars;
}
