// sshd with pam_radius, configured as in the setup guide, and ssh on a pseudo-terminal. It runs under a name of its own, which is the name of its
// PAM service.

import { runProgram } from "../../support/child.ts";
import { freeTcpPort } from "../../support/free_port.ts";
import { guideText } from "./guided.ts";
import type { Door, PeerRow, PeerSetUp } from "./login.ts";
import { setUpPeer } from "./peer_run.ts";
import { openTerminalLogin, watchScreen } from "./screen.ts";

export const SSHD: PeerRow = {
  title: "sshd with pam_radius",
  needs: { peers: ["sshd", "ssh", "pamRadius"], root: true },
  setUp: setUpSshd,
};

/** A user of every host, without a shell. */
export const SSH_USER = "nobody";

async function setUpSshd(gateway: Door): Promise<PeerSetUp> {
  const service = `countersign-test-${crypto.randomUUID()}`;
  const serviceFile = `/etc/pam.d/${service}`;
  const setUp = await setUpPeer("sshd", async ({ directory: run, startClient }) => {
    const moved = [["/etc/pam_radius_auth.conf", `${run}/radius.conf`]] as const;
    const part = (title: string) => guideText("sshd", title, { gateway, moved });
    await Deno.writeTextFile(`${run}/radius.conf`, part("/etc/pam_radius_auth.conf"), { mode: 0o600 });
    const others = ["account", "session"].map((kind) => `${kind} required pam_permit.so\n`).join("");
    await Deno.writeTextFile(serviceFile, part("/etc/pam.d/sshd") + others);
    const port = freeTcpPort();
    const own = `ListenAddress 127.0.0.1\nPort ${port}\nHostKey ${run}/key\nPidFile none\nStrictModes no\n`;
    await Deno.writeTextFile(`${run}/sshd_config`, own + part("/etc/ssh/sshd_config.d/countersign.conf"));
    await runProgram("ssh-keygen", { args: ["-q", "-t", "ed25519", "-N", "", "-f", `${run}/key`] });
    await Deno.mkdir("/run/sshd", { recursive: true });
    await Deno.symlink("/usr/sbin/sshd", `${run}/${service}`);
    const server = startClient(`${run}/${service}`, { args: ["-D", "-e", "-f", `${run}/sshd_config`] });
    await watchScreen(server, "sshd").until(
      (text) => text.includes("Server listening"),
      "the end of its start",
    );
    return async ({ name, password }) => {
      const options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "PubkeyAuthentication=no"]
        .map((option) => `-o ${option}`).join(" ");
      const command = `ssh -v -F none -p ${port} ${options} -o NumberOfPasswordPrompts=1 ${name}@127.0.0.1`;
      const terminal = startClient("/usr/bin/script", { args: ["-qec", command, "/dev/null"] });
      const login = openTerminalLogin(terminal, {
        program: "ssh",
        endings: [["Authenticated to 127.0.0.1", "accept"], ["Permission denied", "reject"]],
      });
      await login.shows("Password: ");
      await login.answer(password);
      return login;
    };
  });
  return {
    ...setUp,
    async [Symbol.asyncDispose]() {
      await setUp[Symbol.asyncDispose]();
      await Deno.remove(serviceFile);
    },
  };
}
