// A stub of the program for the tests of startProgram(): reads its settings and reports that it is ready.

import { parse } from "smol-toml";

const settings = parse(Deno.readTextFileSync(Deno.env.get("COUNTERSIGN_CONFIG") ?? "")) as {
  server: { data_dir: string; log_level?: string };
  radius: { listen: string[] };
  http: { listen: string };
};
const ready = Deno.env.get("COUNTERSIGN_READY_FILE") ?? "";
if (settings.server.log_level === "refused") {
  console.error("fault: server.log_level is wrong");
  Deno.exit(1);
}
const port = Number(settings.radius.listen[0]?.split(":")[1]);
const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port });
const server = Deno.serve({
  hostname: "127.0.0.1",
  port: Number(settings.http.listen.split(":")[1]),
  onListen() {},
}, () => new Response("here"));
Deno.addSignalListener("SIGTERM", () => {
  console.log("goodbye");
  Deno.exit(0);
});
console.log(`data in ${settings.server.data_dir}`);
const { port: radiusPort } = socket.addr as Deno.NetAddr;
const told = {
  radius: [{ hostname: "127.0.0.1", port: radiusPort }],
  accounting: [],
  tls: [],
  http: { hostname: "127.0.0.1", port: server.addr.port },
  pid: Deno.pid,
};
Deno.writeTextFileSync(`${ready}.new`, JSON.stringify(told));
Deno.renameSync(`${ready}.new`, ready);
