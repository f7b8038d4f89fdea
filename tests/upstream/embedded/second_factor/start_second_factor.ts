// An embedded second-factor service with its own clock, and a phone that is paired for ada.

import type { ApprovalRequest } from "../../../../radius/ports.ts";
import type { EmbeddedSecondFactor } from "../../../../upstream/embedded/second_factor/second_factor.ts";
import { createManualClock, type ManualClock } from "../../manual_clock.ts";
import { CONTEXT, loadEmbedded, openServiceDeps, right, type ServiceDeps } from "../../start_services.ts";

export interface SecondFactorSetup {
  readonly clock: ManualClock;
  readonly ground: ServiceDeps;
  readonly embedded: EmbeddedSecondFactor;
  /** Ada's phone and its pairing. */
  readonly token: string;
  readonly pairingId: string;
  /** A request to ada's phone; with a prompt, so a number must be matched. */
  ask(options?: { hasPrompt?: boolean; pairingId?: string }): Promise<ApprovalRequest>;
  /** Starts another service on the same store. */
  restart(): Promise<EmbeddedSecondFactor>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const TTL_MS = 60_000;

export async function startSecondFactor(
  settings: { numberMatching?: boolean } = {},
): Promise<SecondFactorSetup> {
  const clock = createManualClock();
  const ground = await openServiceDeps(clock);
  const embedded = await loadEmbedded(ground, { requestTtlMs: TTL_MS, ...settings });
  const started: EmbeddedSecondFactor[] = [embedded];
  const { token, pairingId } = await pairPhone(embedded, "ada");
  return {
    clock,
    ground,
    embedded,
    token,
    pairingId,
    ask: async ({ hasPrompt = true, pairingId: asked = pairingId } = {}) =>
      right(
        await embedded.service.initiate({
          pairingId: asked,
          terminalName: "VPN Access",
          context: { ...CONTEXT, hasPrompt },
        }),
      ),
    async restart() {
      const again = await loadEmbedded(ground, { requestTtlMs: TTL_MS, ...settings });
      started.push(again);
      return again;
    },
    async [Symbol.asyncDispose]() {
      for (const service of started) await service.close();
      await ground.store.close();
    },
  };
}

/** A new phone, paired by an invitation. */
export async function pairPhone(
  embedded: EmbeddedSecondFactor,
  userName: string,
): Promise<{ token: string; pairingId: string }> {
  const { invitation } = await embedded.admin.invite(userName);
  return right(await embedded.phone.acceptInvitation(invitation, { token: null, source: userName }));
}
