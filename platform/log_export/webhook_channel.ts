// Records as webhooks: batches of JSON, signed, one request after the other. A 2xx answer confirms a batch.

import type { CallProblem } from "../call_fault.ts";
import type { Fetch } from "../fetch_with_deadline.ts";
import type { WebhookFormat } from "./destination_choices.ts";
import { type EcsRecord, nestFields } from "./ecs_fields.ts";
import { ChannelFault, type LogChannel, type SendOptions } from "./log_channel.ts";
import { shortenRecord } from "./syslog.ts";
import type { WebhookReceiver, WebhookSender } from "./webhook_sender.ts";

interface WebhookChannelDeps {
  readonly sender: WebhookSender;
  /** The client with the authorities of the destination; absent: those of the platform. */
  readonly client?: { readonly fetch: Fetch; readonly close: () => void } | undefined;
}

const MAX_BODY_OCTETS = 512 * 1024;
const MAX_RECORDS = 500;
/** Problems (details of the sender) that can be caused by the content of one record: RFC 9110 §15.5.1, §15.5.21. */
const CONTENT_REFUSALS: ReadonlySet<string> = new Set(["HTTP 400", "HTTP 422"]);
/** Records that are sent alone and refused, before any was accepted. */
const MAX_REFUSED_FIRST = 50;
/** Of the sender, in the words of a destination. */
const PROBLEMS: Readonly<Partial<Record<CallProblem, CallProblem>>> = {
  bad_url: "bad_settings",
  http_not_allowed: "bad_settings",
  failed: "refused",
};

export class WebhookChannel implements LogChannel {
  readonly confirmAfterMs = 0;
  readonly #deps: WebhookChannelDeps;
  readonly #receiver: WebhookReceiver;
  readonly #format: WebhookFormat;

  constructor(
    deps: WebhookChannelDeps,
    { receiver, format }: { receiver: WebhookReceiver; format: WebhookFormat },
  ) {
    this.#deps = deps;
    this.#receiver = receiver;
    this.#format = format;
  }

  async send(
    records: readonly EcsRecord[],
    options: SendOptions,
  ): Promise<readonly string[]> {
    const pass: SendPass = { ...options, accepted: 0, leftOut: [], refusal: null };
    for (const batch of batchesOf(records)) await this.#sendBatch(batch, pass);
    // A receiver that accepts nothing has another problem than the content of a record.
    if (pass.accepted === 0 && pass.refusal !== null) throw pass.refusal;
    return pass.leftOut;
  }

  confirm(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.#deps.client?.close();
  }

  /** A batch that is too large for the receiver is sent in halves, and one record without its dispensable fields. */
  async #sendBatch(batch: readonly Prepared[], pass: SendPass): Promise<void> {
    if (pass.isStopped()) throw new ChannelFault("busy", "the gateway stops");
    const { sender, client } = this.#deps;
    const fetch = client === undefined ? {} : { fetch: client.fetch };
    const outcome = await sender.send(this.#receiver, this.#messageOf(batch), fetch);
    if (outcome.ok) return void (pass.accepted += batch.length);
    const { code, detail, retryAfterMs } = outcome.problem;
    const fault = new ChannelFault(PROBLEMS[code] ?? code, detail, { retryAfterMs });
    const isTooLarge = code === "too_large";
    const isRefused = isTooLarge || CONTENT_REFUSALS.has(detail);
    const [one] = batch;
    if (batch.length === 1 && one !== undefined) {
      if (isTooLarge && !one.isShort) return await this.#sendBatch([shortened(one)], pass);
      if (isRefused) return leaveOut(one, { pass, fault });
    }
    if (!isTooLarge && !(isRefused && pass.leavesOutRefused)) throw fault;
    const middle = batch.length >> 1;
    await this.#sendBatch(batch.slice(0, middle), pass);
    await this.#sendBatch(batch.slice(middle), pass);
  }

  /** The id is made of the records, so that a repetition of a batch has the same one. */
  #messageOf(batch: readonly Prepared[]): { id: string; body: string; contentType: string } {
    const id = `${batch[0]?.id}-${batch.at(-1)?.id}-${batch.length}`;
    const lines = batch.map(({ line }) => line);
    return this.#format === "ndjson"
      ? { id, body: `${lines.join("\n")}\n`, contentType: "application/x-ndjson" }
      : { id, body: `{"records":[${lines.join(",")}]}`, contentType: "application/json" };
  }
}

/** What happened to the records of one call. */
interface SendPass extends SendOptions {
  accepted: number;
  readonly leftOut: string[];
  /** The first refusal of a single record. */
  refusal: ChannelFault | null;
}

interface Prepared {
  readonly id: string;
  readonly line: string;
  readonly fields: EcsRecord;
  readonly isShort: boolean;
}

function prepared(fields: EcsRecord, isShort: boolean): Prepared {
  return { id: String(fields["event.id"]), line: JSON.stringify(nestFields(fields)), fields, isShort };
}

const shortened = ({ fields }: Prepared): Prepared => prepared(shortenRecord(fields), true);

/** @throws ChannelFault if no record may be left out, or the receiver accepts none */
function leaveOut({ id }: Prepared, { pass, fault }: { pass: SendPass; fault: ChannelFault }): void {
  pass.refusal ??= fault;
  pass.leftOut.push(id);
  const isWithoutSuccess = pass.accepted === 0 && pass.leftOut.length >= MAX_REFUSED_FIRST;
  if (!pass.leavesOutRefused || isWithoutSuccess) throw fault;
}

function* batchesOf(records: readonly EcsRecord[]): Generator<Prepared[]> {
  let batch: Prepared[] = [];
  let octets = 0;
  for (const fields of records) {
    const one = prepared(fields, false);
    // A character has at most three octets in UTF-8 for each of its units in UTF-16.
    const length = one.line.length * 3;
    if (batch.length > 0 && (batch.length >= MAX_RECORDS || octets + length > MAX_BODY_OCTETS)) {
      yield batch;
      [batch, octets] = [[], 0];
    }
    batch.push(one);
    octets += length;
  }
  if (batch.length > 0) yield batch;
}
