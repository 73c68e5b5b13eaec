/*
 * worker.js - runs the program, each question in a new instance
 *
 * The page puts the loader of emscripten, which defines plaitProgram, before this script. The first
 * message has the compiled program and its data; each other message is one question.
 */
const FOLDER = "/work"; // the current folder, with the files of the user
const MADE = FOLDER + "/out"; // what the program writes there is part of the answer

let module, data;

function writeFiles(FS, folder, files) {
    for (const [path, text] of Object.entries(files)) {
        const file = folder + "/" + path;
        FS.mkdirTree(file.slice(0, file.lastIndexOf("/")));
        FS.writeFile(file, text);
    }
}

/* Returns the files of a folder, with their paths in it. */
function readFolder(FS, folder, prefix = "") {
    return FS.readdir(folder).filter((name) => !name.startsWith(".")).flatMap((name) => {
        const path = folder + "/" + name;
        return FS.isDir(FS.stat(path).mode)
            ? readFolder(FS, path, prefix + name + "/")
            : [{path: prefix + name, bytes: FS.readFile(path), runs: (FS.stat(path).mode & 0o111) !== 0}];
    });
}

/*
 * Standard error is a terminal, so that the program shows its progress: "searching  17 %" after a
 * carriage return. Returns a function that returns the other lines.
 */
function listen(FS, onProgress) {
    const decoder = new TextDecoder();
    let bytes = [], text = "";

    FS.streams[2].tty.ops = {
        put_char(tty, byte) {
            if (byte === 13) {
                bytes = [];
                return;
            }
            bytes.push(byte);
            if (byte !== 10 && byte !== 37)
                return;
            const line = decoder.decode(new Uint8Array(bytes));
            const progress = /^([a-z ]+?):? +(\d+) %$/.exec(line);
            if (progress)
                onProgress(progress[1], Number(progress[2]) / 100);
            else if (byte === 10)
                text += line.trimStart();
            else
                return; // a message that has a percentage goes on
            bytes = [];
        },
        flush() {},
    };
    return () => text;
}

async function run({id, argv, files, columns}) {
    const program = await plaitProgram({
        thisProgram: "plait",
        preRun: [({ENV}) => {
            if (columns)
                ENV.COLUMNS = String(columns);
        }],
        instantiateWasm(imports, done) {
            WebAssembly.instantiate(module, imports).then((instance) => done(instance));
            return {};
        },
    });
    const FS = program.FS;

    writeFiles(FS, "/share/plait", data);
    FS.symlink("/bin/plait", "/proc/self/exe"); // the program finds its data from here
    FS.mkdirTree(MADE);
    FS.chdir(FOLDER);
    writeFiles(FS, FOLDER, files);
    FS.close(FS.streams[1]);
    FS.open("/stdout", "w"); // is descriptor 1
    const errors = listen(FS, (what, share) => postMessage({id, what, share}));
    const status = program.callMain(argv);
    return {id, status, out: FS.readFile("/stdout", {encoding: "utf8"}), err: errors(), made: readFolder(FS, MADE)};
}

onmessage = async ({data: message}) => {
    if (message.module) {
        ({module, data} = message);
        return;
    }
    try {
        postMessage(await run(message));
    } catch (error) {
        postMessage({id: message.id, status: 3, out: "", made: [],
                     err: "plait: the program stopped: " + (error.message || error) + "\n"});
    }
};
