// FreeRADIUS's radclient: one run for each step. The test copies State, like users of radclient.

import { runProgram } from "../../support/child.ts";
import type { Door, Login, PeerRow, PeerSetUp, Verdict } from "./login.ts";

/** The reply as radclient printed it. */
interface Printed {
  readonly code: string;
  readonly state: string | null;
  readonly message: string;
}

/** A login by radclient also returns its output. */
export interface RadclientLogin extends Login {
  /** The text of the last reply. */
  message(): string;
}

export interface RadclientSetUp extends PeerSetUp {
  login(user: { name: string; password: string }): Promise<RadclientLogin>;
}

/** With `port`, each login sends its own NAS-Port, so that the gateway's State is a plain name; without, a token. */
export function radclientRow(
  options: { title: string; nasPort: boolean; signed: boolean },
): PeerRow {
  return {
    title: options.title,
    needs: { peers: ["radclient"] },
    setUp: (door) => Promise.resolve(setUpRadclient(door, options)),
  };
}

/** radclient for any address, also a proxy's. */
export function setUpRadclient(
  door: Door,
  options: { nasPort: boolean; signed: boolean; nasIdentifier?: string },
): RadclientSetUp {
  let nextPort = 1 + Math.floor(Math.random() * 1e6);
  return {
    async login({ name, password }) {
      const common = [
        `User-Name = "${name}"`,
        ...(options.nasIdentifier === undefined ? [] : [`NAS-Identifier = "${options.nasIdentifier}"`]),
        ...(options.nasPort ? [`NAS-Port = ${nextPort++}`] : []),
        ...(options.signed ? ["Message-Authenticator = 0x00"] : []),
      ];
      return openLogin(await step(door, [...common, `User-Password = "${password}"`]), { door, common });
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function openLogin(
  first: Printed,
  { door, common }: { door: Door; common: readonly string[] },
): RadclientLogin {
  let printed = first;
  return {
    message: () => printed.message,
    shows(text) {
      if (printed.code === "Access-Challenge" && printed.message.includes(text)) return Promise.resolve();
      return Promise.reject(new Error(`Expected a challenge with "${text}", got ${JSON.stringify(printed)}`));
    },
    async answer(text) {
      if (printed.state === null) throw new Error(`There is no State to answer: ${JSON.stringify(printed)}`);
      printed = await step(door, [...common, `User-Password = "${text}"`, `State = ${printed.state}`]);
    },
    end() {
      const verdict = VERDICTS.get(printed.code);
      if (verdict === undefined) {
        return Promise.reject(new Error(`Expected an end, got ${JSON.stringify(printed)}`));
      }
      return Promise.resolve({ verdict, message: printed.message });
    },
  };
}

const VERDICTS = new Map<string, Verdict>([["Access-Accept", "accept"], ["Access-Reject", "reject"]]);

async function step(door: Door, attributes: readonly string[]): Promise<Printed> {
  const { stdout, stderr } = await runProgram("radclient", {
    args: ["-x", "-t", "8", "-r", "2", `127.0.0.1:${door.port}`, "auth", door.secret],
    stdin: `${attributes.join(",")}\n`,
    timeoutMs: 20_000,
  });
  const reply = stdout.slice(stdout.indexOf("Received "));
  const [, code] = /^Received (Access-\w+) /.exec(reply) ?? [];
  if (code === undefined) throw new Error(`radclient got no reply:\n${stdout}${stderr}`);
  // radclient 3.2.1 checks the Response Authenticator itself and drops a reply whose authenticator is wrong.
  const messages = [...reply.matchAll(/^\tReply-Message = "(.*)"$/gm)].map(([, text = ""]) => unescape(text));
  const [, state = null] = /^\tState = (0x[0-9a-f]+)$/m.exec(reply) ?? [];
  return { code, state, message: messages.join("") };
}

function unescape(printed: string): string {
  return printed.replaceAll("\\n", "\n").replaceAll('\\"', '"');
}
