// Runs before the program, in its process: the program ends at once if it reports that it is ready before it handles SIGTERM.

const { addSignalListener, rename } = Deno;
let handles = false;

Deno.addSignalListener = (signal, handler) => {
  handles ||= signal === "SIGTERM";
  addSignalListener(signal, handler);
};

Deno.rename = async (from, to) => {
  if (String(to) === Deno.env.get("COUNTERSIGN_READY_FILE") && !handles) {
    console.error("ready, but SIGTERM is not handled yet");
    Deno.exit(1);
  }
  await rename(from, to);
};
