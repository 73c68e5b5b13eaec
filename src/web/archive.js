/* archive.js - packs files into a tar archive (POSIX ustar) and saves files */

const BLOCK = 512;

function header(path, size, mode) {
    const block = new Uint8Array(BLOCK);
    const put = (at, text) => block.set(new TextEncoder().encode(text), at);
    const octal = (value, digits) => value.toString(8).padStart(digits, "0") + "\0";

    put(0, path);
    put(100, octal(mode, 7));
    put(108, octal(0, 7)); // user
    put(116, octal(0, 7)); // group
    put(124, octal(size, 11));
    put(136, octal(0, 11)); // time: the same answer is the same archive
    put(148, " ".repeat(8)); // the sum counts its own field as blanks
    put(156, "0");
    put(257, "ustar\0" + "00");
    put(148, block.reduce((sum, byte) => sum + byte, 0).toString(8).padStart(6, "0") + "\0 ");
    return block;
}

/* Returns an archive of files [{path, bytes, runs}] in a folder; paths have at most 100 bytes. */
export function tar(folder, files) {
    const parts = files.flatMap(({path, bytes, runs}) => [
        header(folder + "/" + path, bytes.length, runs ? 0o755 : 0o644), bytes,
        new Uint8Array((BLOCK - bytes.length % BLOCK) % BLOCK),
    ]);
    return new Blob([...parts, new Uint8Array(2 * BLOCK)], {type: "application/x-tar"});
}

export function save(name, content, type) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
    Object.assign(document.createElement("a"), {href: url, download: name}).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000); // long enough for a busy browser
}
