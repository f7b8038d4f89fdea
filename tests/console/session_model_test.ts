// The page's session: calls that wait for a new one or for a fresh factor, and go on by themselves.

import { assertEquals, assertRejects } from "@std/assert";
import { type ApiClient, ApiFailure } from "../../console/web/api_client.ts";
import { createSessionModel } from "../../console/web/models/session_model.ts";
import type { SessionAnswer } from "../../console/api/api_types.ts";

const NOW_MS = 1_800_000_000_000;

function answer(values: { freshForMs?: number; idleForMs?: number } = {}): SessionAnswer {
  return {
    session: {
      name: "ada",
      role: "owner",
      origin: "console",
      nowMs: NOW_MS,
      deadlineMs: NOW_MS + 3_600_000,
      idleDeadlineMs: NOW_MS + (values.idleForMs ?? 900_000),
      freshUntilMs: NOW_MS + (values.freshForMs ?? 300_000),
      has: { totp: false, passkey: false },
    },
    needsSetUp: false,
    features: { approvals: false, outbox: false, phone: false },
    provider: null,
  };
}

/** No call leaves: these tests hand the answers in. */
const createModel = () => createSessionModel({} as ApiClient, { onServerTime: () => undefined });

/** Fails with each code in turn, then gives "done"; counts how often it ran. */
function failing(...codes: readonly string[]) {
  const left = [...codes];
  const call = () => {
    call.runs += 1;
    const code = left.shift();
    return code === undefined ? Promise.resolve("done") : Promise.reject(new ApiFailure(code));
  };
  call.runs = 0;
  return call;
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("whileSignedIn() waits for a new session and runs the call again", async () => {
  const model = createModel();
  const call = failing("not_signed_in");
  const result = model.whileSignedIn(call);
  await settled();
  assertEquals([model.interrupted.value, model.steppingUp.value, call.runs], [true, false, 1]);
  model.adopt(answer());
  assertEquals([await result, call.runs, model.interrupted.value], ["done", 2, false]);
});

Deno.test("whileSignedIn() waits for a fresh factor, which an old session is not", async () => {
  const model = createModel();
  const call = failing("step_up");
  const result = model.whileSignedIn(call);
  await settled();
  model.adopt(answer({ freshForMs: -1 }));
  await settled();
  assertEquals([model.steppingUp.value, call.runs], [true, 1]);
  model.adopt(answer());
  assertEquals([await result, call.runs, model.steppingUp.value], ["done", 2, false]);
});

Deno.test("whileSignedIn() does not ask for another sign-in because of an older answer", async () => {
  for (const code of ["not_signed_in", "step_up"]) {
    const model = createModel();
    const late = Promise.withResolvers<never>();
    let runs = 0;
    const result = model.whileSignedIn(() => {
      runs += 1;
      return runs === 1 ? late.promise : Promise.resolve("done");
    });
    model.adopt(answer());
    late.reject(new ApiFailure(code));
    assertEquals([await result, runs], ["done", 2]);
    assertEquals([model.interrupted.value, model.steppingUp.value], [false, false], code);
  }
});

Deno.test("leaveStepUp() gives up every call that waited, and nothing was done", async () => {
  const model = createModel();
  const calls = [failing("step_up"), failing("step_up")];
  const results = calls.map((call) => assertRejects(() => model.whileSignedIn(call), ApiFailure));
  await settled();
  model.leaveStepUp();
  const faults: readonly ApiFailure[] = await Promise.all(results);
  assertEquals(faults.map(({ code }) => code), ["step_up", "step_up"]);
  assertEquals([calls.map(({ runs }) => runs), model.steppingUp.value], [[1, 1], false]);
});

Deno.test("whileSignedIn() goes through a lost session and a fresh factor, and gives up in the end", async () => {
  const model = createModel();
  const both = model.whileSignedIn(failing("not_signed_in", "step_up"));
  for (let round = 0; round < 2; round += 1) {
    await settled();
    model.adopt(answer());
  }
  assertEquals(await both, "done");
  const stubborn = failing(...Array<string>(10).fill("step_up"));
  const refused = assertRejects(() => model.whileSignedIn(stubborn), ApiFailure);
  for (let round = 0; round < 6; round += 1) {
    await settled();
    model.adopt(answer());
  }
  await refused;
  assertEquals(stubborn.runs, 4);
});

Deno.test("whileSignedIn() lets every other failure through at once", async () => {
  const model = createModel();
  const call = failing("role");
  const fault = await assertRejects(() => model.whileSignedIn(call), ApiFailure);
  assertEquals([fault.code, call.runs, model.interrupted.value], ["role", 1, false]);
});

Deno.test("endsMs follows whichever end comes first, and is gone with the session", () => {
  const model = createModel();
  model.adopt(answer({ idleForMs: 60_000 }));
  assertEquals(model.endsMs.value, NOW_MS + 60_000);
  model.adopt(answer({ idleForMs: 9_000_000 }));
  assertEquals(model.endsMs.value, NOW_MS + 3_600_000);
  model.adopt({ ...answer(), session: null });
  assertEquals([model.endsMs.value, model.isSignedIn()], [null, false]);
});
