// Anna, who is deleted, for the tests of the trash.

import type { Target } from "../../../scim/ports.ts";
import type { TrashEntry } from "../../../scim/trash_port.ts";
import { ACTOR, group, type Stage, user } from "./stage.ts";

export const SHAPE = { local: "store", a: "sync", b: "async" } as const;
export const OWNER = { name: "console:owner", source: "192.0.2.9" };

export const trashOf = (target: Target): Promise<TrashEntry[]> =>
  Array.fromAsync(target.directory.trash.list());
export const membersAt = (stage: Stage, backend: string, name: string) => {
  const content = stage.backend(backend).groups.get(name)?.content;
  return content?.kind === "group" ? content.members : null;
};

/** A target with Anna, who has a password and two groups, deleted. @returns the id of her entry. */
export async function deleteAnna(stage: Stage, target: Target): Promise<string> {
  await target.create(user("Anna", { displayName: "Anna A.", title: "Dr" }), {
    actor: ACTOR,
    password: "thirteen chars",
  });
  await target.create(user("bert"), { actor: ACTOR });
  for (const name of ["staff", "vpn"]) await target.create(group(name, ["Anna", "bert"]), { actor: ACTOR });
  await settled(stage, target);
  const { trashed } = await target.remove("user", "anna", { actor: OWNER });
  await settled(stage, target);
  if (trashed === undefined) throw new Error("The deletion left no entry");
  return trashed;
}

export async function settled(stage: Stage, target: Target): Promise<void> {
  await stage.becomes("nothing is pending", () => target.pendingWrites(1).length === 0);
}
