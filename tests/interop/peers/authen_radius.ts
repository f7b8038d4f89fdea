// Authen::Radius, the library of Perl programs. An empty answer is a User-Password without octets, all requests of a
// login have the same Request Authenticator, and none has a Message-Authenticator.

import { endChild } from "../../support/child.ts";
import type { Door, PeerRow, PeerSetUp } from "./login.ts";
import { openTerminalLogin } from "./screen.ts";

export const AUTHEN_RADIUS: PeerRow = {
  title: "Authen::Radius",
  needs: { peers: ["authenRadius"] },
  setUp: (door) => Promise.resolve(setUpAuthenRadius(door)),
};

const PROGRAM = new URL("./authen_radius.pl", import.meta.url).pathname;

export function setUpAuthenRadius({ port, secret }: Door): PeerSetUp {
  const children: Deno.ChildProcess[] = [];
  return {
    async login({ name, password }) {
      const child = new Deno.Command("/usr/bin/perl", {
        args: [PROGRAM, `127.0.0.1:${port}`, secret, name],
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      children.push(child);
      const login = openTerminalLogin(child, {
        program: "Authen::Radius",
        endings: [["code 2:", "accept"], ["code 3:", "reject"]],
      });
      await login.answer(password);
      return login;
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) await endChild(child, 500);
    },
  };
}
