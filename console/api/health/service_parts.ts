// The health of the second-factor service and of the telephony service: external ones are tested, embedded ones need an address or send nothing.

import type { HealthPart } from "../targets/target_types.ts";

/** The last test of a part. */
export interface TestResult {
  readonly lastGoodMs: number | null;
  readonly problem: string | null;
}

interface ServiceState {
  /** The address of an external service; "" for the embedded one. */
  readonly url: string;
  /** The address of the console and of the phone page. */
  readonly publicUrl: string;
  /** `null`: not tested yet. */
  readonly tested: TestResult | null;
  readonly nowMs: number;
}

export function servicePart(
  id: "second_factor" | "telephony",
  { url, publicUrl, tested, nowMs }: ServiceState,
): HealthPart {
  const part = { id, kind: id, name: url, figure: null, detail: "", testable: false } as const;
  if (url !== "") {
    const { lastGoodMs = null, problem = null } = tested ?? {};
    const state = problem !== null ? "bad" : lastGoodMs === null ? "unknown" : "ok";
    return { ...part, state, lastGoodMs, detail: problem ?? "", testable: true };
  }
  // The embedded outbox sends nothing. The embedded second-factor service needs phones that reach its page.
  if (id === "telephony") return { ...part, state: "off", lastGoodMs: null, note: "not_sent" };
  if (isLoopbackUrl(publicUrl)) {
    return { ...part, state: "warning", lastGoodMs: nowMs, note: "loopback_url", name: publicUrl };
  }
  return { ...part, state: "ok", lastGoodMs: nowMs };
}

/** Whether only this host reaches the address. */
function isLoopbackUrl(url: string): boolean {
  const hostname = URL.parse(url)?.hostname ?? "";
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
