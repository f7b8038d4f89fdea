// pam_radius_auth under pamtester: a real PAM conversation over stdin. Challenges are prompts; the answer goes back with
// State. Its requests carry no Message-Authenticator, and NAS-Port is its process id.

import { endChild } from "../../ground/child.ts";
import type { Door, Login, PeerRow, PeerSetUp, Verdict } from "./login.ts";

const WAIT_MS = 20_000;

export const PAM: PeerRow = {
  title: "pam_radius under pamtester",
  needs: { peers: ["pamRadius", "pamtester"], root: true },
  setUp: setUpPam,
};

async function setUpPam(door: Door): Promise<PeerSetUp> {
  const scratch = await Deno.makeTempDir({ prefix: "countersign-pam-" });
  const service = `countersign-test-${crypto.randomUUID()}`;
  const serviceFile = `/etc/pam.d/${service}`;
  await Deno.writeTextFile(`${scratch}/servers`, `127.0.0.1:${door.port} ${door.secret} 10\n`, {
    mode: 0o600,
  });
  await Deno.writeTextFile(
    serviceFile,
    `auth required pam_radius_auth.so conf=${scratch}/servers retry=2\naccount required pam_permit.so\n`,
  );
  const children: Deno.ChildProcess[] = [];
  return {
    async login({ name, password }) {
      const child = new Deno.Command("pamtester", {
        args: ["-v", service, name, "authenticate"],
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      children.push(child);
      const login = openLogin(child);
      await login.shows("Password: ");
      await login.answer(password);
      return login;
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) await endChild(child, 500);
      await Deno.remove(serviceFile);
      await Deno.remove(scratch, { recursive: true });
    },
  };
}

const ENDINGS: readonly [text: string, verdict: Verdict][] = [
  ["pamtester: successfully authenticated", "accept"],
  ["pamtester: Authentication failure", "reject"],
];

function openLogin(child: Deno.ChildProcess): Login {
  const screen = watch(child);
  const writer = child.stdin.getWriter();
  return {
    async shows(text) {
      await screen.until((unread) => unread.includes(text), `"${text}"`);
    },
    async answer(text) {
      // What was shown before the answer must not satisfy the next wait.
      screen.clear();
      await writer.write(new TextEncoder().encode(`${text}\n`));
    },
    async end() {
      await screen.until((unread) => ENDINGS.some(([text]) => unread.includes(text)), "an end");
      const [, verdict = "reject"] = ENDINGS.find(([text]) => screen.text().includes(text)) ?? [];
      return { verdict, message: null };
    },
  };
}

/** Gathers both output streams of a child and wakes whoever waits for something in them. */
function watch(child: Deno.ChildProcess) {
  let unread = "";
  let wake: () => void = () => {};
  const gather = async (stream: ReadableStream<Uint8Array>) => {
    for await (const octets of stream) {
      unread += new TextDecoder().decode(octets);
      wake();
    }
  };
  void gather(child.stdout);
  void gather(child.stderr);
  return {
    text: () => unread,
    clear() {
      unread = "";
    },
    async until(isThere: (unread: string) => boolean, what: string): Promise<void> {
      for (const end = performance.now() + WAIT_MS; !isThere(unread);) {
        const leftMs = end - performance.now();
        if (leftMs <= 0) throw new Error(`pamtester did not show ${what} but: ${unread}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, leftMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
  };
}
