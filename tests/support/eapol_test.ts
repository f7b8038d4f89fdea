// eapol_test of wpa_supplicant: the client of an access point or a VPN with EAP, without either. It compares the keys
// that it derives with the MPPE keys of the Access-Accept.

import { runProgram } from "./child.ts";
import type { Needs } from "./skip_unless.ts";

/** What a test of this client needs. */
export const EAPOL_NEEDS: Needs = { peers: ["eapolTest"] };

/** The methods, and whether they derive keys. */
export const EAP_METHODS = {
  "MSCHAPV2": { hasKeys: true, lines: ["eap=MSCHAPV2"] },
  "PEAP/MSCHAPV2": { hasKeys: true, lines: ["eap=PEAP", 'phase2="auth=MSCHAPV2"'] },
  "TTLS/PAP": { hasKeys: true, lines: ["eap=TTLS", 'phase2="auth=PAP"'] },
  "TTLS/MSCHAPV2": { hasKeys: true, lines: ["eap=TTLS", 'phase2="auth=MSCHAPV2"'] },
  "TLS": { hasKeys: true, lines: ["eap=TLS"] },
  "GTC": { hasKeys: false, lines: ["eap=GTC"] },
  "MD5": { hasKeys: false, lines: ["eap=MD5"] },
} as const;
export type EapMethodName = keyof typeof EAP_METHODS;

/** One login. */
export interface EapLogin {
  /** The RADIUS server on loopback. */
  readonly port: number;
  readonly secret: string;
  readonly method: EapMethodName;
  readonly user: string;
  /** The name outside the tunnel; without it, `user`. */
  readonly outerName?: string;
  readonly password?: string;
  /** For TLS. */
  readonly certificate?: { readonly certFile: string; readonly keyFile: string };
  /** The authority of the server's certificate, for methods with TLS. */
  readonly caFile?: string;
  /** More attributes of the request, as `-N` takes them: type, then s, d or x, then the value. */
  readonly attributes?: readonly string[];
  /** It gives up after this time; 20 s by default. */
  readonly timeoutS?: number;
  /** Called with the id of the process. */
  readonly onStart?: (pid: number) => void;
}

/** The result of a login. */
export interface EapRun {
  /** `silent`: no answer in time. `failed`: the client ended the login itself. */
  readonly outcome: "accept" | "reject" | "silent" | "failed";
  /** The client got an EAP-Failure. */
  readonly hasEapFailure: boolean;
  /** Whether the MPPE keys of the Access-Accept are those that the client derived. */
  readonly keys: "equal" | "different" | "absent";
  /** Access-Challenges. */
  readonly rounds: number;
  /** Everything that it printed, with the attributes of each packet. */
  readonly text: string;
}

/** Runs one login to its end. */
export async function runEapolTest(login: EapLogin): Promise<EapRun> {
  const file = await Deno.makeTempFile({ prefix: "countersign-eap-", suffix: ".conf" });
  try {
    await Deno.writeTextFile(file, configOf(login), { mode: 0o600 });
    const { stdout, stderr } = await runProgram("eapol_test", {
      args: [
        ...["-c", file, "-a", "127.0.0.1", "-p", String(login.port), "-s", login.secret],
        ...["-t", String(login.timeoutS ?? 20), "-M", stationOf(login.user)],
        ...EAP_METHODS[login.method].hasKeys ? [] : ["-n"],
        ...(login.attributes ?? []).map((one) => `-N${one}`),
      ],
      timeoutMs: 120_000,
      ...login.onStart === undefined ? {} : { onStart: login.onStart },
    });
    return read(stdout + stderr);
  } finally {
    await Deno.remove(file);
  }
}

function configOf({ method, user, outerName, password, certificate, caFile }: EapLogin): string {
  const lines = [
    "key_mgmt=IEEE8021X",
    ...EAP_METHODS[method].lines,
    `identity=P${JSON.stringify(user)}`,
    ...outerName === undefined ? [] : [`anonymous_identity=P${JSON.stringify(outerName)}`],
    ...password === undefined ? [] : [`password=P${JSON.stringify(password)}`],
    ...caFile === undefined ? [] : [`ca_cert="${caFile}"`],
    ...certificate === undefined
      ? []
      : [`client_cert="${certificate.certFile}"`, `private_key="${certificate.keyFile}"`],
  ];
  return `network={\n${lines.map((line) => `  ${line}\n`).join("")}}\n`;
}

/** An address for each user, so that logins differ as those of several devices do. */
function stationOf(user: string): string {
  const sum = [...new TextEncoder().encode(user)].reduce((all, octet) => (all * 31 + octet) % 0xffffffff, 7);
  return `02:00:${sum.toString(16).padStart(8, "0").match(/../g)?.join(":")}`;
}

function read(text: string): EapRun {
  const has = (code: string) => text.includes(`(${code})`);
  const isSuccess = /^SUCCESS$/m.test(text);
  const outcome = has("Access-Accept")
    ? "accept"
    : has("Access-Reject")
    ? "reject"
    : text.includes("EAPOL test timed out")
    ? "silent"
    : "failed";
  const octetsOf = (name: RegExp) =>
    new RegExp(`^${name.source} - hexdump\\(len=\\d+\\):(.*)$`, "m").exec(text)?.[1]?.replaceAll(" ", "") ??
      "";
  const given = octetsOf(/MS-MPPE-Recv-Key \(crypt\)/);
  const derived = octetsOf(/PMK from EAPOL/);
  return {
    outcome: outcome === "accept" && !isSuccess && given === "" ? "failed" : outcome,
    hasEapFailure: /EAP: Status notification: completion \(param=failure\)|EAP: Received EAP-Failure/.test(
      text,
    ),
    keys: given === "" ? "absent" : derived.startsWith(given) ? "equal" : "different",
    rounds: text.split("(Access-Challenge)").length - 1,
    text,
  };
}
