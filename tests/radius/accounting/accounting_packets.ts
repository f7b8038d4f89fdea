// Accounting-Requests for the tests, built by code of the tests (RFC 2866 §4.1).

import { type Attribute, buildAccountingRequest, type BuiltRequest } from "../../support/radius_packets.ts";

export const STATUS = { start: 1, stop: 2, update: 3, on: 7, off: 8 } as const;

/** The content of an Accounting-Request. Absent fields are not sent. */
export interface AccountingFields {
  readonly user?: string | Uint8Array;
  readonly session?: string | Uint8Array;
  readonly nas?: string;
  readonly framedAddress?: readonly number[];
  readonly callingStation?: string;
  readonly input?: readonly [octets: number, gigawords: number];
  readonly output?: readonly [octets: number, gigawords: number];
  readonly seconds?: number;
  readonly delay?: number;
  readonly cause?: number;
  readonly identifier?: number;
  readonly more?: readonly Attribute[];
}

const utf8 = new TextEncoder();

export function accountingRequest(
  secret: string,
  status: number,
  fields: AccountingFields = {},
): BuiltRequest {
  const more: Attribute[] = [{ type: 40, value: integer(status) }];
  const add = (type: number, value: Uint8Array | undefined) => {
    if (value !== undefined) more.push({ type, value });
  };
  const number = (value: number | undefined) => value === undefined ? undefined : integer(value);
  add(44, typeof fields.session === "string" ? utf8.encode(fields.session) : fields.session);
  add(32, fields.nas === undefined ? undefined : utf8.encode(fields.nas));
  add(8, fields.framedAddress === undefined ? undefined : Uint8Array.from(fields.framedAddress));
  add(42, number(fields.input?.[0]));
  add(52, number(fields.input?.[1]));
  add(43, number(fields.output?.[0]));
  add(53, number(fields.output?.[1]));
  add(46, number(fields.seconds));
  add(41, number(fields.delay));
  add(49, number(fields.cause));
  more.push(...fields.more ?? []);
  return buildAccountingRequest(secret, {
    ...(fields.user === undefined ? {} : { userName: fields.user }),
    ...(fields.callingStation === undefined ? {} : { callingStationId: fields.callingStation }),
    ...(fields.identifier === undefined ? {} : { identifier: fields.identifier }),
    more,
  });
}

function integer(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff);
}
