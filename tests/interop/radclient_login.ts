// Logins with radclient, packet by packet.

import { runProgram } from "../support/child.ts";
import type { ProgramWithServices } from "../fakes/program_services.ts";

const SECRET = "shared-with-radclient";

/** Settings of one client for each first factor. The NAS-Identifier selects the client. */
export const clients = (firstFactors: readonly string[]) =>
  firstFactors.map((factor) => `
[[radius.client]]
name = "${factor}"
address = ["127.0.0.1"]
nas_identifier = "${factor}"
secret = "${SECRET}"
first_factor = "${factor}"
${factor === "ldap" ? 'first_factor_backend = "directory"' : ""}`).join("\n");

/** The reply as radclient printed it. */
export interface RadclientReply {
  readonly code: string;
  readonly state: string;
  readonly message: string;
  readonly text: string;
}

let lastPort = 0;
/** A NAS-Port that no other login has. */
export const newPort = () => ++lastPort;

/** One packet of one login; `place` is its NAS-Port, a new one by default. */
export async function send(
  { gateway }: ProgramWithServices,
  { user, password, state, factor = "none", place = newPort() }: {
    user: string;
    password: string;
    state?: string;
    factor?: string;
    place?: number;
  },
): Promise<RadclientReply> {
  const attributes = [
    `User-Name = "${user}"`,
    `NAS-Identifier = "${factor}"`,
    `NAS-Port = ${place}`,
    "Message-Authenticator = 0x00",
    `User-Password = "${password}"`,
    ...state === undefined ? [] : [`State = ${state}`],
  ];
  const { stdout, stderr } = await runProgram("radclient", {
    args: ["-x", "-t", "8", "-r", "2", `127.0.0.1:${gateway.radiusPort}`, "auth", SECRET],
    stdin: `${attributes.join(",")}\n`,
    timeoutMs: 20_000,
  });
  const text = stdout.slice(stdout.indexOf("Received "));
  const [, code] = /^Received Access-(\w+) /.exec(text) ?? [];
  if (code === undefined) throw new Error(`radclient got no reply:\n${stdout}${stderr}`);
  const [, given = ""] = /^\tState = (0x[0-9a-f]+)$/m.exec(text) ?? [];
  const messages = [...text.matchAll(/^\tReply-Message = "(.*)"$/gm)].map(([, one = ""]) => one);
  return { code, state: given, message: messages.join(""), text };
}

export interface RadclientLogin {
  readonly first: RadclientReply;
  answer(password: string): Promise<RadclientReply>;
}

export async function begin(world: ProgramWithServices, user: string): Promise<RadclientLogin> {
  const place = newPort();
  const first = await send(world, { user, password: "x", place });
  let { state } = first;
  return {
    first,
    async answer(password) {
      const reply = await send(world, { user, password, state, place });
      state = reply.state;
      return reply;
    },
  };
}
