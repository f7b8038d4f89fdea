// What an audit record says of a pairing: its id, its factor, the phone's name, and the number with most digits masked.

import { maskPhoneNumber } from "../../platform/phone_number.ts";

export interface PairingDetails {
  readonly pairing: string;
  readonly factor: string;
  readonly phone?: string;
  readonly number?: string;
}

export function pairingDetails(
  pairing: { readonly id: string; readonly kind: string; readonly name?: string; readonly number?: string },
): PairingDetails {
  const { id, kind, name, number } = pairing;
  return {
    pairing: id,
    factor: kind,
    ...(kind === "device" && name !== undefined ? { phone: name } : {}),
    ...(number === undefined ? {} : { number: maskPhoneNumber(number) }),
  };
}
