// Tests the settings of external services before they are saved.

import type { Config } from "../platform/config/config.ts";
import type { Fetch } from "../platform/fetch_with_deadline.ts";
import { fetchWithDeadline } from "../platform/fetch_with_deadline.ts";
import type { Clock } from "../platform/runtime.ts";
import type { Fault, TelephonyService } from "../radius/ports.ts";
import type { ExternalSecondFactor } from "./switchable_second_factor.ts";

export type TrialCode =
  /** There is nothing to test: the embedded service is used. */
  | "embedded"
  /** The service answered, and accepted the credentials. */
  | "accepted"
  /** The service answered, and said nothing about the credentials. */
  | "answered"
  | "sent"
  | "credentials_refused"
  | "refused"
  | "unreachable"
  /** Of mail: there is nothing to test, or TLS failed. */
  | "no_mail"
  | "no_tls";

/** `detail`: what the service said, in its language, or "". */
export interface TrialResult {
  readonly ok: boolean;
  readonly code: TrialCode;
  readonly detail: string;
}

type ServiceConfig = Pick<Config, "secondFactor" | "telephony">;

export interface ServiceTrial {
  secondFactor(config: ServiceConfig): Promise<TrialResult>;
  /** @param options.to a number that receives a text. */
  telephony(config: ServiceConfig, options: { to: string | null }): Promise<TrialResult>;
}

interface ServiceTrialDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly openSecondFactor: (config: ServiceConfig) => ExternalSecondFactor | null;
  readonly openTelephony: (
    config: ServiceConfig,
  ) => { readonly service: TelephonyService; close(): Promise<void> } | null;
}

/** An id that no request has. */
const NO_REQUEST = "countersign-connection-test";
const TRIAL_TEXT = "This is a test message of Countersign.";
const EMBEDDED: TrialResult = { ok: true, code: "embedded", detail: "" };

export function createServiceTrial(deps: ServiceTrialDeps): ServiceTrial {
  return {
    async secondFactor(config) {
      const external = deps.openSecondFactor(config);
      if (external === null) return EMBEDDED;
      try {
        const outcome = await external.service.status(NO_REQUEST);
        // A service checks the signature before it looks up the request.
        const isAccepted = outcome.ok || outcome.fault.kind === "unknown";
        return isAccepted ? { ok: true, code: "accepted", detail: "" } : toResult(outcome.fault);
      } finally {
        await external.close();
      }
    },
    async telephony(config, { to }) {
      const external = deps.openTelephony(config);
      if (external === null) return EMBEDDED;
      try {
        if (to === null) return await askAccount(deps, config);
        const outcome = await external.service.text({ to, body: TRIAL_TEXT, validitySeconds: 300 });
        return outcome.ok ? { ok: true, code: "sent", detail: "" } : toResult(outcome.fault);
      } finally {
        await external.close();
      }
    },
  };
}

function toResult(fault: Fault): TrialResult {
  const { detail } = fault;
  if (fault.kind === "refused") {
    const isAboutCredentials = fault.status === 401 || fault.status === 403;
    return { ok: false, code: isAboutCredentials ? "credentials_refused" : "refused", detail };
  }
  return { ok: false, code: fault.kind === "nonsense" ? "refused" : "unreachable", detail };
}

/** Reads the account: the only call of the telephony interface without an effect. */
async function askAccount(
  { fetch, clock }: ServiceTrialDeps,
  { telephony: { url, accountId, authToken, timeoutMs } }: ServiceConfig,
): Promise<TrialResult> {
  const credentials = new TextEncoder().encode(`${accountId}:${authToken}`).toBase64();
  const answer = await fetchWithDeadline({
    method: "GET",
    url: `${url.replace(/\/$/, "")}/2010-04-01/Accounts/${encodeURIComponent(accountId)}.json`,
    headers: { accept: "application/json", authorization: `Basic ${credentials}` },
  }, { fetch, clock, deadlineMs: clock.nowMs() + timeoutMs, maxOctets: 64 * 1024 });
  if (!answer.ok) return { ok: false, code: "unreachable", detail: "" };
  const detail = `HTTP ${answer.status}`;
  if (answer.status === 401 || answer.status === 403) {
    return { ok: false, code: "credentials_refused", detail };
  }
  if (answer.status >= 500) return { ok: false, code: "unreachable", detail };
  return { ok: true, code: answer.status < 300 ? "accepted" : "answered", detail };
}
