// The real program with the targets and credentials that these tests share.

import { type RunningProgram, startProgram } from "../../support/program.ts";
import { type Account, type Caller, createCaller } from "./caller.ts";

export const WRITER: Account = { name: "provisioner", password: "the-writer's password" };
export const READER: Account = { name: "reader", password: "the-reader's password" };
/** For the target `small` only. */
export const STRANGER: Account = { name: "stranger", password: "the-stranger's password" };

export interface RowsWorld extends Caller {
  readonly gateway: RunningProgram;
  dispose(): Promise<void>;
}

const credential = ({ name, password }: Account, targets: readonly string[], access: string) => `
[[scim.credential]]
name = "${name}"
password = "${password}"
targets = ${JSON.stringify(targets)}
access = "${access}"
`;

/** The settings of the credentials; the writer and the reader are for `targets`. */
export function credentialsToml(targets: readonly string[]): string {
  const stranger = targets.includes("small") ? credential(STRANGER, ["small"], "write") : "";
  return credential(WRITER, targets, "write") + credential(READER, targets, "read") + stranger;
}

/** Three targets in the embedded store: `default`, `small` with pages of three, `own` with its own mapping. */
export const STORE_TARGETS = `
[targets.default]
[targets.small]
page_size = 3
[targets.own.mapping.user]
"externalId" = "number"
"name.familyName" = "sn"
[targets.own.mapping.group]
"externalId" = "number"
`;

/** Starts the program; calls go to `default` as the writer. */
export async function startRowsWorld(): Promise<RowsWorld> {
  const gateway = await startProgram({
    toml: credentialsToml(["default", "small", "own"]) + STORE_TARGETS,
  });
  return {
    gateway,
    ...createCaller(gateway, { account: WRITER, target: "default" }),
    dispose: () => gateway.dispose(),
  };
}
