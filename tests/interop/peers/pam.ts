// pam_radius_auth with pamtester: a real PAM conversation over stdin. Challenges are prompts; the answer is sent with
// State. Its requests have no Message-Authenticator, and NAS-Port is its process id.

import { endChild } from "../../support/child.ts";
import type { Door, PeerRow, PeerSetUp } from "./login.ts";
import { openTerminalLogin } from "./screen.ts";

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
      const login = openTerminalLogin(child, {
        program: "pamtester",
        endings: [
          ["pamtester: successfully authenticated", "accept"],
          ["pamtester: Authentication failure", "reject"],
        ],
      });
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
