/* engine.js - the program inside the page: unpacks it once, and runs questions in workers */

/* Most questions at once; each has its own worker and memory. */
const WORKERS = Math.max(1, Math.min(3, navigator.hardwareConcurrency || 2));

async function unpack(id) {
    const text = atob(document.getElementById(id).textContent.trim());
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

const unpacked = Promise.all([
    unpack("program").then((bytes) => WebAssembly.compile(bytes)),
    unpack("files").then((bytes) => JSON.parse(new TextDecoder().decode(bytes))),
]);

/* Returns the data files of the program: {"models/llama-3.1-8b.json": "{...}", ...}. */
export async function dataFiles() {
    return (await unpacked)[1];
}

let source; // the address of the workers' script, which file:// has no file for
const idle = [];
const waiting = [];
let busy = 0, lastId = 0;

async function start() {
    const [module, data] = await unpacked;
    source ??= URL.createObjectURL(new Blob([document.getElementById("worker").textContent], {type: "text/javascript"}));
    const worker = new Worker(source);
    worker.postMessage({module, data});
    return worker;
}

function next() {
    if (busy < WORKERS && waiting.length > 0) {
        busy++;
        waiting.shift()();
    }
}

const turn = () => new Promise((go) => {
    waiting.push(go);
    next();
});

/**
 * Runs the program with arguments.
 *
 * `files` are put into its current folder, by name; lines of text have at most `columns` letters. The answer has the exit status, what the program
 * printed (`out`, `err`), and the files `made` that it left in the folder "out". When `signal` is
 * aborted the worker is ended, and the promise fails with AbortError.
 */
export async function ask(argv, {files = {}, columns, signal, onProgress = () => {}} = {}) {
    await turn();
    let worker;
    try {
        signal?.throwIfAborted();
        worker = idle.pop() || await start();
        const id = ++lastId;
        const answer = await new Promise((resolve, reject) => {
            const stop = () => {
                worker.terminate();
                worker = null;
                reject(new DOMException("cancelled", "AbortError"));
            };
            if (signal?.aborted)
                return stop();
            signal?.addEventListener("abort", stop, {once: true});
            worker.onmessage = ({data}) => {
                if (data.share !== undefined)
                    return onProgress(data.what, data.share);
                signal?.removeEventListener("abort", stop);
                resolve(data);
            };
            worker.onerror = (event) => reject(new Error(event.message || "the worker failed"));
            worker.postMessage({id, argv, files, columns});
        });
        idle.push(worker);
        worker = null;
        return answer;
    } finally {
        worker?.terminate();
        busy--;
        next();
    }
}
