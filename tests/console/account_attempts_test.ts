// The limit of wrong sign-ins of one account over all sources.

import { assertEquals } from "@std/assert";
import {
  ACCOUNT_WINDOW_MS,
  ATTACKED_WAIT_MS,
  createAccountAttempts,
  MAX_ACCOUNT_FAILURES,
} from "../../console/api/auth/account_rate_limit.ts";
import { Refusal } from "../../console/api/errors.ts";
import { createManualClock } from "../fakes/console_app.ts";

function attacked() {
  const clock = createManualClock();
  const attempts = createAccountAttempts({ clock });
  const isRefused = (source: string, name = "Ada") => {
    try {
      attempts.refuseAttacker({ name, source });
      return false;
    } catch (fault) {
      if (fault instanceof Refusal && fault.code === "too_many_attempts") return true;
      throw fault;
    }
  };
  for (let at = 0; at < MAX_ACCOUNT_FAILURES; at += 1) {
    attempts.failed({ name: "ada", source: `198.51.100.${at}` });
  }
  return { clock, attempts, isRefused };
}

Deno.test("createAccountAttempts() gives each source one wrong sign-in in 15 minutes for an account under attack", () => {
  const { clock, attempts, isRefused } = attacked();
  assertEquals([isRefused("203.0.113.1"), isRefused("198.51.100.3")], [false, true]);
  assertEquals(isRefused("198.51.100.3", "bob"), false);
  attempts.failed({ name: "ADA", source: "203.0.113.1" });
  assertEquals(isRefused("203.0.113.1"), true);
  clock.advance(ATTACKED_WAIT_MS);
  assertEquals(isRefused("203.0.113.1"), false);
});

Deno.test("createAccountAttempts() does not limit a source from which the account signed in", () => {
  const { attempts, isRefused } = attacked();
  attempts.failed({ name: "ada", source: "2001:db8::1" });
  assertEquals(isRefused("2001:db8::2"), true);
  attempts.succeeded({ name: "ada", source: "2001:db8::2" });
  attempts.failed({ name: "ada", source: "2001:db8::1" });
  assertEquals(isRefused("2001:db8::1"), false);
});

Deno.test("createAccountAttempts() forgets an attack after an hour", () => {
  const { clock, isRefused } = attacked();
  clock.advance(ACCOUNT_WINDOW_MS);
  assertEquals(isRefused("198.51.100.3"), false);
});
