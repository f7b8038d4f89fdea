// The entry point of the console. It has no code of its own, so that the browser starts with the shared chunk.

import "./app/start.tsx";
