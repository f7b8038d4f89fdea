// The session model of the page: calls wait for a new session or a recent factor, and then continue.

import { assertEquals, assertRejects } from "@std/assert";
import { type ApiClient, ApiFailure } from "../../console/web/app/api_client.ts";
import { SessionModel } from "../../console/web/app/session_model.ts";
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

/** No call is sent: these tests supply the answers. */
const createModel = () => new SessionModel({} as ApiClient, { onServerTime: () => undefined });

/** Fails with each code in turn, then returns "done"; counts its runs. */
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
  assertEquals([model.isInterrupted.value, model.isSteppingUp.value, call.runs], [true, false, 1]);
  model.adopt(answer());
  assertEquals([await result, call.runs, model.isInterrupted.value], ["done", 2, false]);
});

Deno.test("whileSignedIn() waits for a recent factor, which an old session does not have", async () => {
  const model = createModel();
  const call = failing("step_up");
  const result = model.whileSignedIn(call);
  await settled();
  model.adopt(answer({ freshForMs: -1 }));
  await settled();
  assertEquals([model.isSteppingUp.value, call.runs], [true, 1]);
  model.adopt(answer());
  assertEquals([await result, call.runs, model.isSteppingUp.value], ["done", 2, false]);
});

Deno.test("whileSignedIn() does not request another sign-in because of an older answer", async () => {
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
    assertEquals([model.isInterrupted.value, model.isSteppingUp.value], [false, false], code);
  }
});

Deno.test("SessionModel.cancelStepUp() gives up every waiting call, and none was run", async () => {
  const model = createModel();
  const calls = [failing("step_up"), failing("step_up")];
  const results = calls.map((call) => assertRejects(() => model.whileSignedIn(call), ApiFailure));
  await settled();
  model.cancelStepUp();
  const faults: readonly ApiFailure[] = await Promise.all(results);
  assertEquals(faults.map(({ code }) => code), ["step_up", "step_up"]);
  assertEquals([calls.map(({ runs }) => runs), model.isSteppingUp.value], [[1, 1], false]);
});

Deno.test("whileSignedIn() handles a lost session and a recent factor, and gives up in the end", async () => {
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

Deno.test("whileSignedIn() passes every other failure on at once", async () => {
  const model = createModel();
  const call = failing("role");
  const fault = await assertRejects(() => model.whileSignedIn(call), ApiFailure);
  assertEquals([fault.code, call.runs, model.isInterrupted.value], ["role", 1, false]);
});

Deno.test("endsMs is the earlier of the two ends, and is null without a session", () => {
  const model = createModel();
  model.adopt(answer({ idleForMs: 60_000 }));
  assertEquals(model.endsMs.value, NOW_MS + 60_000);
  model.adopt(answer({ idleForMs: 9_000_000 }));
  assertEquals(model.endsMs.value, NOW_MS + 3_600_000);
  model.adopt({ ...answer(), session: null });
  assertEquals([model.endsMs.value, model.isSignedIn()], [null, false]);
});

/** A model whose calls to the session routes are answered by the test. */
function createPendingModel() {
  const asked: PromiseWithResolvers<Response>[] = [];
  const call = () => {
    const pending = Promise.withResolvers<Response>();
    asked.push(pending);
    return pending.promise;
  };
  const api = { session: { $get: call, stay: { $post: call } } } as unknown as ApiClient;
  return { model: new SessionModel(api, { onServerTime: () => undefined }), asked };
}

Deno.test("check() and extend() do not request another sign-in because of an older answer", async () => {
  const { model, asked } = createPendingModel();
  const checked = model.check();
  const extended = model.extend();
  model.adopt(answer());
  asked[0]?.resolve(Response.json({ ...answer(), session: null }));
  asked[1]?.resolve(Response.json({ error: { code: "not_signed_in", message: "" } }, { status: 401 }));
  await extended;
  assertEquals([await checked, model.isInterrupted.value], [true, false]);
});

Deno.test("check() and extend() request a sign-in when none happened in between", async () => {
  for (const method of ["check", "extend"] as const) {
    const { model, asked } = createPendingModel();
    model.adopt(answer());
    const done = model[method]();
    asked[0]?.resolve(
      method === "check"
        ? Response.json({ ...answer(), session: null })
        : Response.json({ error: { code: "not_signed_in", message: "" } }, { status: 401 }),
    );
    await done;
    assertEquals(model.isInterrupted.value, true, method);
  }
});
