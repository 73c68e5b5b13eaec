/* system.js - the functions of the system that the program links and emscripten's C library lacks */
mergeInto(LibraryManager.library, {
    memfd_create: function () { return -1; }, // the page gives no pipe to the program
    sched_getaffinity: function () { return -1; }, // the number of processors is then what sysconf() returns, 1
    __sched_cpucount: function () { return 1; },
});
