// A web push service (RFC 8030) for tests, on its own port. It checks each message as the large services do: VAPID (RFC 8292), TTL,
// Topic, Urgency and size. Then it decrypts the message (RFC 8291), because it also has the keys of its browsers.

import { type CryptoKey, decodeProtectedHeader, importJWK, jwtVerify } from "jose";
import { BrowserKeys } from "./push_decryption.ts";

/** What the browser sends to the gateway: `PushSubscription.toJSON()`. */
export interface BrowserSubscription {
  readonly endpoint: string;
  readonly expirationTime: null;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/** A message that passed all checks. */
export interface DeliveredPush {
  readonly endpoint: string;
  /** The decrypted payload. */
  readonly text: string;
  /** `text` as JSON. */
  readonly payload: Record<string, unknown>;
  readonly ttlS: number;
  readonly topic: string | null;
  readonly urgency: string | null;
  readonly claims: { readonly aud: string; readonly exp: number; readonly sub: string };
  /** The token of the Authorization header. */
  readonly token: string;
  readonly bodyOctets: number;
}

/** What the service does with a message that passed all checks. */
export type PushAnswer =
  | {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  }
  /** No answer until `release()`. */
  | "hang"
  /** An answer that never ends. */
  | "endless";

const CREATED: PushAnswer = { status: 201, headers: { location: "https://push.example/message/1" } };
/** RFC 8030 §7.2 requires at least 4,096 octets. */
const MAX_BODY_OCTETS = 4096;
const MAX_EXPIRY_S = 24 * 3600;

interface KnownSubscription {
  readonly endpoint: string;
  readonly keys: BrowserKeys;
  /** RFC 8292 §4: only this key may send; `null`: any. */
  readonly serverKey: string | null;
}

/** @param options.nowMs the clock that `exp` is compared with. */
export function startPushService({ nowMs = Date.now }: { nowMs?: () => number } = {}): FakePushService {
  return new FakePushService(nowMs);
}

export class FakePushService implements AsyncDisposable {
  /** The address of this service. Endpoints have the name of a real service; {@link fetch} leads them here. */
  readonly address: string;
  /** Accepted messages, oldest first. */
  readonly delivered: DeliveredPush[] = [];
  /** What was wrong with the other messages. */
  readonly refused: string[] = [];
  /** The origin of each request, with the requests that were refused. */
  readonly requests: string[] = [];
  /** Answers of the next messages, in order; then {@link answer}. */
  readonly answers: PushAnswer[] = [];
  answer: PushAnswer = CREATED;
  /** The clock that `exp` is compared with. */
  nowMs: () => number;
  readonly #known = new Map<string, KnownSubscription>();
  readonly #listeners = new Set<(push: DeliveredPush) => void>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #released = Promise.withResolvers<void>();

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
    const options = { port: 0, hostname: "127.0.0.1", onListen: () => undefined };
    this.#server = Deno.serve(options, (request) => this.#handle(request));
    this.address = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release();
    await this.#server.shutdown();
  }

  /**
   * A new subscription of a browser.
   *
   * @param options.origin the origin of the endpoint.
   * @param options.serverKey `applicationServerKey` in base64url: messages of another key get status 403.
   */
  subscribe(
    { origin = "https://fcm.googleapis.com", serverKey = null, keys = new BrowserKeys() }: {
      origin?: string;
      serverKey?: string | null;
      keys?: BrowserKeys;
    } = {},
  ): BrowserSubscription {
    const path = `/send/${crypto.randomUUID()}`;
    const endpoint = `${origin}${path}`;
    this.#known.set(path, { endpoint, keys, serverKey });
    return { endpoint, expirationTime: null, keys: keys.json };
  }

  /** Forgets a subscription: messages to it get status 410. */
  unsubscribe(endpoint: string): void {
    this.#known.delete(new URL(endpoint).pathname);
  }

  /** A `fetch` that sends every request here, whatever its host. For the network of the product in a test. */
  readonly fetch = (url: string, init: RequestInit): Promise<Response> => {
    const { pathname, origin } = new URL(url);
    this.requests.push(origin);
    return fetch(`${this.address}${pathname}`, init);
  };

  /** Ends the exchanges that hang. */
  release(): void {
    this.#released.resolve();
    this.#released = Promise.withResolvers();
  }

  /** Calls back for each accepted message. */
  onDelivery(notify: (push: DeliveredPush) => void): () => void {
    this.#listeners.add(notify);
    return () => this.#listeners.delete(notify);
  }

  async #handle(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const body = new Uint8Array(await request.arrayBuffer());
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const known = this.#known.get(pathname);
    if (known === undefined) return new Response(null, { status: 410 });
    const checked = await this.#check(request, { known, body });
    if (typeof checked !== "object") {
      this.refused.push(checked);
      return new Response(checked, { status: STATUS_OF_PROBLEM.get(checked) ?? 400 });
    }
    const answer = this.answers.shift() ?? this.answer;
    if (typeof answer === "object" && answer.status === 201) this.#deliver(checked);
    return await this.#respond(answer);
  }

  #deliver(push: DeliveredPush): void {
    this.delivered.push(push);
    for (const notify of this.#listeners) notify(push);
  }

  async #respond(answer: PushAnswer): Promise<Response> {
    if (answer === "hang") {
      await this.#released.promise;
      return new Response(null, { status: 503 });
    }
    if (answer === "endless") return new Response(endlessBody(), { status: 201 });
    const { status, headers = {}, body = null } = answer;
    return new Response(body, { status, headers });
  }

  /** The message, or what is wrong with it. */
  async #check(
    request: Request,
    { known, body }: { known: KnownSubscription; body: Uint8Array },
  ): Promise<DeliveredPush | string> {
    const { headers } = request;
    if (body.length > MAX_BODY_OCTETS) return "too large";
    const ttl = headers.get("ttl") ?? "";
    if (!/^\d{1,9}$/.test(ttl)) return "TTL";
    if (headers.get("content-encoding") !== "aes128gcm") return "Content-Encoding";
    const topic = headers.get("topic");
    if (topic !== null && !/^[A-Za-z0-9_-]{1,32}$/.test(topic)) return "Topic";
    const urgency = headers.get("urgency");
    if (urgency !== null && !["very-low", "low", "normal", "high"].includes(urgency)) return "Urgency";
    const vapid = await this.#checkVapid(headers.get("authorization") ?? "", known);
    if (typeof vapid === "string") return vapid;
    const text = decrypted(known.keys, body);
    if (text === null) return "cannot decrypt";
    const { endpoint } = known;
    const payload = JSON.parse(text);
    return {
      ...{ endpoint, text, payload, ttlS: Number(ttl), topic, urgency, ...vapid },
      bodyOctets: body.length,
    };
  }

  /** RFC 8292 §2 and §3. */
  async #checkVapid(
    authorization: string,
    { endpoint, serverKey }: KnownSubscription,
  ): Promise<Pick<DeliveredPush, "claims" | "token"> | string> {
    const [, token = "", key = ""] = /^vapid t=([^, ]+), k=([^, ]+)$/.exec(authorization) ?? [];
    if (token === "") return "Authorization";
    if (serverKey !== null && key !== serverKey) return "another server key";
    try {
      const { alg } = decodeProtectedHeader(token);
      if (alg !== "ES256") return "alg";
      const { payload } = await jwtVerify(token, await publicKeyOf(key), {
        currentDate: new Date(this.nowMs()),
        audience: new URL(endpoint).origin,
        requiredClaims: ["exp", "sub", "aud"],
      });
      const { exp = 0, sub = "", aud } = payload;
      if (exp > this.nowMs() / 1000 + MAX_EXPIRY_S) return "exp";
      if (!/^(mailto:[^@\s]+@[^@\s]+|https:\/\/\S+)$/.test(sub)) return "sub";
      return { token, claims: { aud: String(aud), exp, sub } };
    } catch (fault) {
      return `JWT: ${fault instanceof Error ? fault.message : String(fault)}`;
    }
  }
}

/** Wrong credentials are 403, everything else is 400. */
const STATUS_OF_PROBLEM: ReadonlyMap<string, number> = new Map([
  ["too large", 413],
  ["Authorization", 401],
  ["another server key", 403],
  ["alg", 403],
  ["exp", 403],
  ["sub", 403],
]);

function decrypted(keys: BrowserKeys, body: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(keys.decrypt(body));
  } catch (_wrongKeys) {
    return null;
  }
}

/** The key of the `k` parameter: an uncompressed point of P-256. */
async function publicKeyOf(text: string): Promise<CryptoKey> {
  const point = Uint8Array.fromBase64(text, { alphabet: "base64url" });
  if (point.length !== 65 || point[0] !== 4) throw new Error("k is not an uncompressed point");
  const toText = (octets: Uint8Array) => octets.toBase64({ alphabet: "base64url", omitPadding: true });
  const jwk = { kty: "EC", crv: "P-256", x: toText(point.subarray(1, 33)), y: toText(point.subarray(33)) };
  const key = await importJWK(jwk, "ES256");
  if (key instanceof Uint8Array) throw new Error("k is not a key");
  return key;
}

function endlessBody(): ReadableStream<Uint8Array> {
  const chunk = new Uint8Array(64 * 1024);
  return new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
}
