// Reminders: on the days of the settings, each once, only to users without a factor.

import { assertEquals } from "@std/assert";
import { nextReminderMs, RateBucket } from "../../../console/api/enrolment/enrolment_sender.ts";
import { commitChanges } from "../../../platform/table.ts";
import { DEFAULT_HELP_TEXT } from "../../../platform/mail/mail_templates.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { SCIM_ACTOR } from "../../fakes/directory_calls.ts";
import { addressOf, DAY_MS, type EnrolmentNode, openEnrolmentScene } from "./enrolment_scene.ts";

/** The template and the user of each mail, sorted. */
async function mailsOf({ queue }: EnrolmentNode): Promise<string[]> {
  return (await queue.mails()).map(({ template, values }) => `${template} ${values.userName}`).sort();
}

const NEXT = [
  [{ invitedMs: 0, remindedMs: null }, ["3", "7"], 3],
  [{ invitedMs: 0, remindedMs: 3 * DAY_MS }, ["3", "7"], 7],
  // After a pause that covered both days, one reminder is enough.
  [{ invitedMs: 0, remindedMs: 8 * DAY_MS }, ["3", "7"], null],
  [{ invitedMs: DAY_MS, remindedMs: null }, ["1"], 2],
  [{ invitedMs: 0, remindedMs: null }, [], null],
] as const;

for (const [mark, days, day] of NEXT) {
  Deno.test(`nextReminderMs() of ${JSON.stringify(mark)} with [${days}] is day ${day}`, () => {
    assertEquals(nextReminderMs(mark, days), day === null ? null : day * DAY_MS);
  });
}

Deno.test("a user without a factor gets each reminder once, with a new link", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada", "bob"] });
  const node = await scene.start();
  await node.campaign(["ada", "bob"]);
  await node.run();
  scene.pairings.adopt(
    scene.pairings.prepare({ canonical: "bob", shown: "bob" }, { kind: "totp", seed: new Uint8Array(20) })
      .pairing,
  );
  for (let day = 1; day <= 10; day++) {
    scene.clock.advance(DAY_MS);
    await node.run(2000);
  }
  assertEquals(await mailsOf(node), ["invitation ada", "invitation bob", "reminder ada", "reminder ada"]);
  const mark = node.marks.of("ada");
  assertEquals([mark?.reminders, Math.round(((mark?.remindedMs ?? 0) - (mark?.invitedMs ?? 0)) / DAY_MS)], [
    2,
    7,
  ]);
  const links = (await node.queue.mails()).filter(({ values }) => values.userName === "ada")
    .map(({ values }) => (values.link ?? "").split("=")[1] ?? "");
  const views = await Promise.all(links.map((link) => node.embedded.phone.viewInvitation(link, "")));
  // The newest one lived 72 hours, which are over.
  assertEquals(views.map(({ ok }) => ok), [false, false, false]);
});

Deno.test("two processes send each reminder once", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada"] });
  const a = await scene.start();
  await a.campaign(["ada"]);
  await a.run();
  const b = await scene.start();
  scene.clock.advance(3 * DAY_MS);
  a.service.runner.wake();
  b.service.runner.wake();
  for (let round = 0; round < 20; round++) {
    scene.clock.advance(200);
    await Promise.all([a.service.runner.idle(), b.service.runner.idle()]);
  }
  assertEquals(await mailsOf(a), ["invitation ada", "reminder ada"]);
});

Deno.test("a deadline that is set while a reminder is prepared is not lost", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada"], settings: { reminderDays: ["1"] } });
  const node = await scene.start();
  await node.campaign(["ada"]);
  await node.run();
  const deadlineMs = scene.clock.nowMs() + 30 * DAY_MS;
  const { directory } = scene.target;
  const { read } = directory;
  let isSet = false;
  directory.read = async (kind, name) => {
    const known = node.marks.read("ada");
    if (!isSet && known !== undefined) {
      isSet = true;
      const change = node.marks.prepare("ada", { read: known, mark: { ...known.value, deadlineMs } });
      await commitChanges(scene.store, [change]);
    }
    return await read.call(directory, kind, name);
  };
  scene.clock.advance(DAY_MS);
  await node.run(2000);
  // The reminder that raced is sent by the next look.
  scene.clock.advance(60_000);
  await node.run(2000);
  const mark = node.marks.of("ada");
  assertEquals([mark?.deadlineMs, mark?.reminders], [deadlineMs, 1]);
});

Deno.test("a campaign without reminders sends none, and neither do settings without days", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada", "bob"], settings: { reminderDays: ["1"] } });
  const node = await scene.start();
  await node.campaign(["ada"], { reminders: false });
  await node.campaign(["bob"]);
  await node.run();
  scene.clock.advance(2 * DAY_MS);
  await node.run(2000);
  assertEquals(await mailsOf(node), ["invitation ada", "invitation bob", "reminder bob"]);
});

Deno.test("a user without an address is looked at once an hour, and reminded after the address is back", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada"], settings: { reminderDays: ["1"] } });
  const node = await scene.start();
  await node.campaign(["ada"]);
  await node.run();
  const setAddress = async (emails: { value: string }[]): Promise<void> => {
    const stored = await scene.target.directory.read("user", "ada");
    if (stored?.content.kind !== "user") throw new Error("Cannot read the user");
    const { content } = stored;
    const attributes = { ...content.attributes, emails };
    await scene.target.replace({ ...content, attributes }, { actor: SCIM_ACTOR });
  };
  await setAddress([]);
  const { directory } = scene.target;
  const { read } = directory;
  let reads = 0;
  directory.read = (kind, name) => {
    if (kind === "user" && name === "ada") reads += 1;
    return read.call(directory, kind, name);
  };
  scene.clock.advance(DAY_MS);
  await node.run(1000);
  const first = reads;
  for (let minute = 0; minute < 30; minute++) {
    scene.clock.advance(60_000);
    await node.run(1000);
  }
  assertEquals([first > 0, reads - first], [true, 0]);
  await setAddress(addressOf("ada"));
  scene.clock.advance(3600_000);
  await node.run(2000);
  assertEquals(await mailsOf(node), ["invitation ada", "reminder ada"]);
});

Deno.test("changed settings apply from the next invitation, reminder and mail on", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada", "bob"] });
  const node = await scene.start();
  await node.campaign(["ada"]);
  await node.run();
  // A running gateway changes its settings in place.
  Object.assign(scene.enrolment, {
    ...{ invitationMs: 3_600_000, reminderDays: ["1"], helpText: "Call 7777.", perMinute: 1 },
  });
  await node.campaign(["bob"]);
  await node.run();
  const bob = node.marks.of("bob");
  assertEquals((bob?.linkUntilMs ?? 0) - (bob?.invitedMs ?? 0), 3_600_000);
  const texts = (await node.queue.mails()).map(({ values }) => `${values.userName} ${values.helpText}`);
  assertEquals(texts.sort(), ["ada Call 5555.", "bob Call 7777."]);
  scene.clock.advance(DAY_MS);
  await node.run(2000);
  assertEquals((await mailsOf(node)).length, 3, "one reminder in the first minute");
  await node.run(60_000);
  assertEquals((await mailsOf(node)).length, 4);
});

Deno.test("a German mail has the default help text in German", async () => {
  const german = { emails: addressOf("ada"), preferredLanguage: "de" };
  await using scene = await openEnrolmentScene({
    users: [["ada", german], "bob"],
    settings: { helpText: DEFAULT_HELP_TEXT.en },
  });
  const node = await scene.start();
  await node.campaign(["ada", "bob"]);
  await node.run();
  const texts = (await node.queue.mails()).map(({ values }) => `${values.userName} ${values.helpText}`);
  assertEquals(texts.sort(), [`ada ${DEFAULT_HELP_TEXT.de}`, `bob ${DEFAULT_HELP_TEXT.en}`]);
});

Deno.test("RateBucket gives the tokens of a minute evenly, and those of a second at once", () => {
  const clock = createManualClock(0);
  const bucket = new RateBucket({ clock, perMinute: 120 });
  const takeAll = (): number => {
    let taken = 0;
    for (; bucket.hasToken(); taken++) bucket.take();
    return taken;
  };
  assertEquals([takeAll(), bucket.waitMs()], [1, 500]);
  clock.advance(500);
  assertEquals(takeAll(), 1);
  clock.advance(60_000);
  assertEquals(takeAll(), 2, "unused time is not saved");
  bucket.adjust(6);
  assertEquals(bucket.waitMs(), 10_000);
  clock.advance(9999);
  assertEquals(takeAll(), 0);
  clock.advance(1);
  assertEquals(takeAll(), 1);
});
