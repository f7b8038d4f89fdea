// The paired phones: which, since when, the one in hand; another is paired, one is removed.

import { useSignal } from "@preact/signals";
import { ConfirmDialog } from "../../web/parts/confirm_dialog.tsx";
import { Icon } from "../../web/parts/icon.tsx";
import { Symbol } from "../../web/parts/symbol.tsx";
import { Time } from "../../web/parts/time.tsx";
import { t } from "../../web/words/translate.ts";
import type { MeDevice } from "../../api/me/me_shapes.ts";
import { InviteDialog } from "./invite_dialog.tsx";
import { type FactorProps, isLastFactor } from "./part_props.ts";
import { Nothing, Section } from "./section.tsx";

export function Phones(props: FactorProps) {
  const { models, account, me, factors: { devices, canInvite } } = props;
  const adding = useSignal(false);
  const removing = useSignal<MeDevice | null>(null);
  const gone = removing.value;
  return (
    <Section
      title={t("me.phones")}
      why={t("me.phones_why")}
      action={canInvite && (
        <button type="button" class="button" onClick={() => adding.value = true}>
          <Symbol name="plus" />
          {t(devices.length === 0 ? "me.phone_add" : "me.phone_add_another")}
        </button>
      )}
    >
      {devices.length === 0
        ? (
          <Nothing
            title={t("me.phones_none")}
            next={t(canInvite ? "me.phones_none_next" : "me.phones_elsewhere")}
          />
        )
        : (
          <ul class="me-rows">
            {devices.map((device) => (
              <PhoneRow
                key={device.pairingId}
                models={models}
                device={device}
                isLast={isLastFactor(props)}
                onRemove={() => removing.value = device}
              />
            ))}
          </ul>
        )}
      {adding.value && <InviteDialog {...props} onClose={() => adding.value = false} />}
      {gone !== null && (
        <ConfirmDialog
          title={t(gone.isThisPhone ? "me.phone_remove_title_here" : "me.phone_remove_title")}
          verb={t("me.phone_remove")}
          onClose={() => removing.value = null}
          onConfirm={async () => {
            let problem: string | null = null;
            await account.run({
              call: () => account.calls.removeDevice(gone.pairingId),
              said: t("me.phone_removed"),
              onProblem: (sentence) => problem = sentence,
            });
            // What this phone opened ends with its pairing.
            if (problem === null && gone.isThisPhone && me.via === "phone") await models.session.signOut();
            return problem;
          }}
        >
          <ul class="me-effects">
            <li>{t("me.phone_remove_1")}</li>
            <li>{t("me.phone_remove_2")}</li>
            {gone.isThisPhone && (
              <li>
                <strong>{t("me.phone_remove_here")}</strong>
              </li>
            )}
          </ul>
        </ConfirmDialog>
      )}
    </Section>
  );
}

interface PhoneRowProps extends Pick<FactorProps, "models"> {
  readonly device: MeDevice;
  readonly isLast: boolean;
  readonly onRemove: () => void;
}

function PhoneRow({ models, device, isLast, onRemove }: PhoneRowProps) {
  const name = phoneName(device);
  return (
    <li class="me-row">
      <Symbol name="smartphone" size={20} />
      <div class="me-row-text">
        <span class="me-row-name">
          <strong>{t("me.phone")}</strong>
          {device.isThisPhone && (
            <span class="chip tone-ok">
              <Icon name="check" size={12} />
              {t("me.this_phone")}
            </span>
          )}
        </span>
        <span class="quiet small">
          {t("me.paired_on")} <Time models={models} atMs={device.createdMs} />,{" "}
          {device.lastUsedMs === null ? t("me.never_used") : (
            <>
              {t("me.used")} <Time models={models} atMs={device.lastUsedMs} />
            </>
          )}
        </span>
        {isLast && <span class="quiet small">{t("me.last_factor")}</span>}
      </div>
      {!isLast && (
        <button type="button" class="button button-plain me-remove" onClick={onRemove}>
          <Symbol name="trash-2" />
          <span>
            {t("me.remove")}
            <span class="unseen">{` ${name}`}</span>
          </span>
        </button>
      )}
    </li>
  );
}

function phoneName({ isThisPhone }: MeDevice): string {
  return t(isThisPhone ? "me.this_phone" : "me.phone");
}
