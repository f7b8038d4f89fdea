// What every part of an open account is given.

import type { Account } from "../account.ts";
import type { MeFactors, MeInfo } from "../../api/me/me_shapes.ts";
import type { MeModels } from "../me_models.ts";

export interface PartProps {
  readonly models: MeModels;
  readonly account: Account;
  readonly me: MeInfo;
}

export interface FactorProps extends PartProps {
  readonly factors: MeFactors;
}

/** Whether no factor may be taken away: it is the only one, and a phone alone opened the page. */
export function isLastFactor({ me, factors }: Pick<FactorProps, "me" | "factors">): boolean {
  const { devices, totp, numbers } = factors;
  return me.via === "phone" && devices.length + totp.length + numbers.length === 1;
}
