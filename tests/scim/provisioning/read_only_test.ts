// Read-only attributes of backends: never written, never a difference, and read-only for clients if all backends have
// them.

import { assertEquals } from "@std/assert";
import { NO_READ_ONLY, readOnlyNames } from "../../../scim/schema/read_only_attributes.ts";
import { ACTOR, openStage, type Shape, type Stage, user } from "./stage.ts";

const OPTIONS = { actor: ACTOR };
const KEPT = { a: ["title"] } as const;
const shown = async (stage: Stage) =>
  (await stage.target().directory.read("user", "anna"))?.content.attributes;
const heldBy = (stage: Stage, name: string) =>
  stage.backend(name).users.get("anna")?.content.attributes.title;

/** Another client changes the attribute in the backend. */
function setAt(stage: Stage, backend: string, title: string): void {
  const known = stage.backend(backend).users.get("anna");
  const remoteId = known?.remoteId ?? "id";
  const content = user("anna", { ...known?.content.attributes, title });
  stage.backend(backend).users.set("anna", { content, remoteId });
}

Deno.test("Target: an attribute that is read-only in the only backend is ignored in writes, read from there, and never differs", async () => {
  const shapes: readonly Shape[] = [{ a: "sync" }, { local: "store", a: "sync" }, {
    local: "store",
    a: "async",
  }];
  for (const shape of shapes) {
    await using stage = await openStage({ shape, readOnly: KEPT });
    const { target } = await stage.start();
    assertEquals(readOnlyNames(target.readOnly ?? NO_READ_ONLY), ["title"]);
    await target.create(user("anna", { title: "ours", nickName: "An" }), OPTIONS);
    await stage.becomes("it is there", () => stage.backend("a").users.has("anna"));
    assertEquals([(await shown(stage))?.title, heldBy(stage, "a")], [undefined, undefined]);

    setAt(stage, "a", "theirs");
    const read = await target.refreshOne("user", "anna", ACTOR);
    assertEquals([read?.content.attributes.title, read?.backends.a?.differs], ["theirs", undefined]);

    const written = await target.replace(user("anna", { title: "ours", nickName: "Anna" }), OPTIONS);
    await stage.becomes("it is delivered", () => target.pendingWrites(9).length === 0);
    assertEquals(
      written.stored?.content.attributes,
      user("anna", { title: "theirs", nickName: "Anna" }).attributes,
    );
    assertEquals(heldBy(stage, "a"), "theirs");
    assertEquals((await target.heldElsewhere("user", "anna")).size, 0);
    await target.refreshAll(ACTOR);
    assertEquals((await stage.below("copy")).length, 0);
  }
});

Deno.test("Target: an attribute that is read-only in one of two backends is written to the other, and the backend's own value is no difference", async () => {
  await using stage = await openStage({ shape: { a: "sync", b: "sync" }, readOnly: KEPT });
  const { target } = await stage.start();
  assertEquals(readOnlyNames(target.readOnly ?? NO_READ_ONLY), []);
  assertEquals(target.backends.map(({ keeps }) => keeps), [["title"], undefined]);
  await target.create(user("anna", { title: "ours" }), OPTIONS);
  assertEquals([heldBy(stage, "a"), heldBy(stage, "b")], [undefined, "ours"]);

  setAt(stage, "a", "theirs");
  const read = await target.refreshOne("user", "anna", ACTOR);
  assertEquals(read?.content.attributes.title, "ours");
  assertEquals([read?.backends.a?.differs, read?.backends.b?.differs], [undefined, undefined]);
  const held = await target.heldElsewhere("user", "anna");
  assertEquals([...held].map(([name, { attributes }]) => [name, attributes.title]), [["a", "theirs"]]);

  await target.replace(user("anna", { title: "newer" }), OPTIONS);
  assertEquals([heldBy(stage, "a"), heldBy(stage, "b")], ["theirs", "newer"]);
  assertEquals((await target.heldElsewhere("user", "anna")).get("a")?.attributes.title, "theirs");
  await target.refreshAll(ACTOR);
  assertEquals((await shown(stage))?.title, "newer");

  setAt(stage, "a", "newer");
  const agreed = await target.refreshOne("user", "anna", ACTOR);
  assertEquals([agreed?.backends.a?.kept, (await target.heldElsewhere("user", "anna")).size], [undefined, 0]);
});

Deno.test("Target: at the first read the values of the read-only attributes apply, and another attribute still differs", async () => {
  await using stage = await openStage({ shape: { a: "sync", b: "sync" }, readOnly: KEPT });
  const { target } = await stage.start();
  setAt(stage, "a", "theirs");
  assertEquals((await target.refreshOne("user", "anna", ACTOR))?.content.attributes.title, "theirs");
  await target.replace(user("anna", { title: "ours" }), { ...OPTIONS, backends: ["a", "b"] }).catch(() =>
    null
  );
  const other = user("anna", { title: "theirs", nickName: "An" });
  stage.backend("b").users.set("anna", { content: other, remoteId: "b" });
  const read = await target.refreshOne("user", "anna", ACTOR);
  assertEquals(read?.backends.b?.differs, true);
});

Deno.test("Target: a put with an unknown result is not repeated because of a read-only attribute", async () => {
  await using stage = await openStage({ shape: { local: "store", a: "async", b: "async" }, readOnly: KEPT });
  const { target } = await stage.start();
  setAt(stage, "a", "theirs");
  stage.backend("a").trouble({ operation: "put", how: "after", times: 1 });
  await target.create(user("anna", { title: "ours" }), OPTIONS);
  await stage.becomes("all is delivered", () => target.pendingWrites(9).length === 0);
  const puts = stage.backend("a").calls.filter(({ operation }) => operation === "put");
  assertEquals([puts.length, heldBy(stage, "a"), heldBy(stage, "b")], [1, "theirs", "ours"]);
});
