// The paired phones: pair another one, rename or remove one.

import { useSignal } from "@preact/signals";
import { MAX_DEVICE_LABEL_CHARACTERS } from "../../../platform/device_label.ts";
import { useAction } from "../../web/app/action.ts";
import { useInterval } from "../../web/app/resource.ts";
import { ConfirmDialog } from "../../web/components/form_dialog.tsx";
import { Dialog } from "../../web/components/dialog.tsx";
import { TextField } from "../../web/components/field.tsx";
import { Icon } from "../../web/components/icons.tsx";
import { InlineIcon } from "../../web/components/inline_icon.tsx";
import { PhoneNote } from "../../web/components/phone_note.tsx";
import { Time } from "../../web/components/time.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { AccountDevice } from "../../api/account/account_types.ts";
import { type FactorProps, Nothing, Section } from "./section.tsx";
import { useEffect } from "preact/hooks";
import { countdownText, durationText } from "../../web/app/format.ts";
import type { QrMatrix } from "../../api/qr_svg.ts";
import { CopyButton } from "../../web/components/button.tsx";
import { Alert } from "../../web/components/alert.tsx";
import { QrCode } from "../../web/components/qr_code.tsx";

export function Phones(props: FactorProps) {
  const { models, account, me, factors: { devices, canInvite } } = props;
  const adding = useSignal(false);
  const removing = useSignal<AccountDevice | null>(null);
  const renaming = useSignal<AccountDevice | null>(null);
  const gone = removing.value;
  return (
    <Section
      title={t("account.phones")}
      why={t("account.phones_why")}
      action={canInvite && (
        <button type="button" class="button" onClick={() => adding.value = true}>
          <Icon name="plus" />
          {t(devices.length === 0 ? "common.pair_phone" : "account.phone_add_another")}
        </button>
      )}
    >
      {devices.length === 0
        ? (
          <Nothing
            title={t("account.phones_none")}
            next={t(canInvite ? "account.phones_none_next" : "account.phones_elsewhere")}
          />
        )
        : (
          <ul class="me-rows">
            {devices.map((device) => (
              <PhoneRow
                key={device.pairingId}
                models={models}
                device={device}
                onRemove={() => removing.value = device}
                onRename={() => renaming.value = device}
              />
            ))}
          </ul>
        )}
      {adding.value && <PairPhoneDialog {...props} onClose={() => adding.value = false} />}
      {renaming.value !== null && (
        <RenameDialog
          {...props}
          device={renaming.value}
          onClose={() => renaming.value = null}
        />
      )}
      {gone !== null && (
        <ConfirmDialog
          title={gone.name === undefined
            ? t(gone.isThisPhone ? "account.phone_remove_title_here" : "account.phone_remove_title")
            : t("account.phone_remove_title_named", { name: gone.name })}
          submitLabel={t("account.phone_remove")}
          onClose={() => removing.value = null}
          onConfirm={async () => {
            let problem: string | null = null;
            await account.run({
              call: () => account.calls.removeDevice(gone.pairingId),
              doneText: t("account.phone_removed"),
              onProblem: (sentence) => problem = sentence,
            });
            // The session of this phone ends with its pairing.
            if (problem === null && gone.isThisPhone && me.via === "phone") await models.session.signOut();
            return problem;
          }}
        >
          <ul class="me-effects">
            <li>{t("account.phone_remove_1")}</li>
            <li>{t("account.phone_remove_2")}</li>
            {gone.isThisPhone && (
              <li>
                <strong>{t("account.phone_remove_here")}</strong>
              </li>
            )}
          </ul>
        </ConfirmDialog>
      )}
    </Section>
  );
}

interface PhoneRowProps extends Pick<FactorProps, "models"> {
  readonly device: AccountDevice;
  readonly onRemove: () => void;
  readonly onRename: () => void;
}

function PhoneRow({ models, device, onRemove, onRename }: PhoneRowProps) {
  const name = phoneName(device);
  return (
    <li class="me-row">
      <Icon name="smartphone" size={20} />
      <div class="me-row-text">
        <span class="me-row-name">
          <strong>
            <bdi>{device.name ?? t("common.phone")}</bdi>
          </strong>
          {device.isThisPhone && (
            <span class="chip tone-ok">
              <InlineIcon name="check" size={12} />
              {t("account.this_phone")}
            </span>
          )}
        </span>
        <span class="quiet small">
          {t("account.paired_on")} <Time models={models} atMs={device.createdMs} />,{" "}
          {device.lastUsedMs === null ? t("account.never_used") : (
            <>
              {t("account.used")} <Time models={models} atMs={device.lastUsedMs} />
            </>
          )}
        </span>
        {device.phone !== undefined && <PhoneNote models={models} phone={device.phone} />}
        {device.isLast && <span class="quiet small">{t("account.last_factor")}</span>}
      </div>
      <div class="me-row-ends">
        <RowButton icon="pencil" verb={t("common.rename")} name={name} onPress={onRename} />
        {!device.isLast && (
          <RowButton icon="trash-2" verb={t("common.remove")} name={name} onPress={onRemove} />
        )}
      </div>
    </li>
  );
}

function RowButton({ icon, verb, name, onPress }: {
  icon: "pencil" | "trash-2";
  verb: string;
  name: string;
  onPress: () => void;
}) {
  return (
    <button type="button" class="button button-plain me-remove" onClick={onPress}>
      <Icon name={icon} />
      <span>
        {verb}
        <span class="unseen">{` ${name}`}</span>
      </span>
    </button>
  );
}

function RenameDialog(
  { account, device, onClose }: FactorProps & { device: AccountDevice; onClose: () => void },
) {
  const name = useSignal(device.name ?? "");
  const problem = useSignal<string | null>(null);
  const action = useAction();
  const rename = async () => {
    const done = await account.run({
      call: () => account.calls.renameDevice(device.pairingId, name.value),
      doneText: t("account.phone_renamed"),
      onProblem: (sentence) => problem.value = sentence,
    });
    if (done !== null) onClose();
  };
  return (
    <Dialog title={t("common.rename")} onClose={onClose} action={action}>
      <form
        class="me-form"
        onSubmit={(event) => {
          event.preventDefault();
          void action.run(rename);
        }}
      >
        <TextField
          id="phone-name"
          label={t("account.phone_name")}
          text={name}
          problem={problem.value}
          input={{ required: true, autofocus: true, maxLength: MAX_DEVICE_LABEL_CHARACTERS }}
        />
        <button type="submit" class="button button-primary" disabled={action.busy.value}>
          {t("common.rename")}
        </button>
      </form>
    </Dialog>
  );
}

function phoneName({ name, isThisPhone }: AccountDevice): string {
  return name ?? t(isThisPhone ? "account.this_phone" : "common.phone");
}

const POLL_INTERVAL_MS = 2500;
/** Above this, a duration ("23 h") is shown instead of a countdown. */
const COUNTED_MS = 90 * 60_000;

function PairPhoneDialog(
  { models, account, factors, onClose }: FactorProps & { onClose: () => void },
) {
  const made = useSignal<{ url: string; qr: QrMatrix | null; deadlineMs: number } | null>(null);
  const problem = useSignal<string | null>(null);
  const known = useSignal(new Set(factors.devices.map(({ pairingId }) => pairingId)));
  const make = async () => {
    problem.value = null;
    made.value = await account.run({
      call: account.calls.invite,
      onProblem: (sentence) => problem.value = sentence,
    });
  };
  useEffect(() => void make(), []);
  useInterval(POLL_INTERVAL_MS, () => account.factors.load(account.calls.factors));
  const isPaired = factors.devices.some(({ pairingId }) => !known.value.has(pairingId));
  useEffect(() => {
    if (!isPaired) return;
    models.toasts.show(t("account.phone_added"), { tone: "ok" });
    onClose();
  }, [isPaired]);
  const invitation = made.value;
  const leftMs = (invitation?.deadlineMs ?? Infinity) - models.clock.nowMs.value;
  return (
    <Dialog
      title={t(factors.devices.length === 0 ? "common.pair_phone" : "account.phone_add_another")}
      onClose={onClose}
    >
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
      {invitation !== null && leftMs <= 0 && (
        <>
          <p role="status">{t("account.phone_add_over")}</p>
          <button type="button" class="button button-primary" onClick={() => void make()}>
            {t("account.phone_add_new")}
          </button>
        </>
      )}
      {invitation !== null && leftMs > 0 && (
        <>
          <p>{t("account.phone_add_how")}</p>
          <div class="me-qr">
            <QrCode picture={invitation.qr} label={t("common.pairing_qr")} />
          </div>
          <p class="me-link mono">{invitation.url}</p>
          <div class="me-actions">
            <CopyButton text={invitation.url} what={t("common.copy_link")} />
            <span class="quiet small">
              {t("account.phone_add_left")}{" "}
              <span class="mono">{leftMs > COUNTED_MS ? durationText(leftMs) : countdownText(leftMs)}</span>
            </span>
          </div>
          <p class="quiet small me-waiting">{t("account.phone_add_waiting")}</p>
        </>
      )}
    </Dialog>
  );
}
