// Passwords of users in the directory.

import { assertEquals } from "@std/assert";
import type { DirectoryWrite } from "../../../scim/ports.ts";
import { drop, openWorld, putUser } from "./world.ts";

const WRITE = {
  kind: "user",
  name: "anna",
  next: {
    content: {
      kind: "user",
      name: "anna",
      active: true,
      attributes: { name: { familyName: "", givenName: "" } },
    },
    backends: { store: { state: "present", sinceMs: 1 } },
  },
  password: { algorithm: "scrypt", costLog2: 14, salt: "s", hash: "h" },
} as const satisfies Omit<DirectoryWrite, "expected">;
const { password } = WRITE;

Deno.test("write() keeps a password until the user is deleted", async () => {
  await using world = await openWorld();
  await world.directory.write({ ...WRITE, expected: null });
  await putUser(world.directory, "anna", { active: false });
  assertEquals(await world.directory.readPassword("anna"), password);
  await drop(world.directory, { kind: "user", name: "anna" });
  await putUser(world.directory, "anna");
  assertEquals(await world.directory.readPassword("anna"), null);
});

Deno.test("write() reports a changed password of an existing user, in the same commit", async () => {
  const asked: string[] = [];
  await using world = await openWorld({
    prepareForgetDevices: (name) => ({
      mutations: [{ type: "delete", key: ["remembered", name] }],
      done: () => asked.push(`done ${name}`),
      undo: () => asked.push(`undo ${name}`),
    }),
  });
  const { directory, store } = world;
  await directory.write({ ...WRITE, expected: null });
  assertEquals(asked, []);
  await store.commit({ mutations: [{ type: "set", key: ["remembered", "anna"], value: 1 }] });
  await putUser(directory, "anna");
  assertEquals([asked, (await store.get(["remembered", "anna"])).value], [[], 1]);
  const stored = await directory.read("user", "anna");
  await directory.write({ ...WRITE, expected: stored?.version ?? null });
  assertEquals([asked, (await store.get(["remembered", "anna"])).value], [["done anna"], null]);
});

Deno.test("write() reports other phone numbers of an existing user", async () => {
  const asked: string[] = [];
  await using world = await openWorld({
    prepareForgetDevices: (name) => ({ mutations: [], done: () => asked.push(name), undo: () => undefined }),
  });
  const numbers = (...values: readonly string[]) => ({
    attributes: { phoneNumbers: values.map((value) => ({ value })) },
  });
  await putUser(world.directory, "anna", numbers("+4915112345678", "+4915187654321"));
  await putUser(world.directory, "anna", numbers("+4915187654321", "+4915112345678"));
  assertEquals(asked, []);
  await putUser(world.directory, "anna", numbers("+4915187654321"));
  await putUser(world.directory, "anna", numbers());
  await putUser(world.directory, "anna", { attributes: { displayName: "Anna" } });
  assertEquals(asked, ["anna", "anna"]);
});
