// The paired phones: which, since when, the one in hand; another is paired, one is removed.

import { useSignal } from "@preact/signals";
import { MAX_PHONE_NAME_CHARACTERS } from "../../../platform/device_label.ts";
import { useDeed } from "../../web/models/deed.ts";
import { ConfirmDialog } from "../../web/parts/confirm_dialog.tsx";
import { Dialog } from "../../web/parts/dialog.tsx";
import { TextField } from "../../web/parts/field.tsx";
import { Icon } from "../../web/parts/icon.tsx";
import { Symbol } from "../../web/parts/symbol.tsx";
import { Time } from "../../web/parts/time.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { MeDevice } from "../../api/account/account_types.ts";
import { InviteDialog } from "./invite_dialog.tsx";
import type { FactorProps } from "./part_props.ts";
import { Nothing, Section } from "./section.tsx";

export function Phones(props: FactorProps) {
  const { models, account, me, factors: { devices, canInvite } } = props;
  const adding = useSignal(false);
  const removing = useSignal<MeDevice | null>(null);
  const renaming = useSignal<MeDevice | null>(null);
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
                onRemove={() => removing.value = device}
                onRename={() => renaming.value = device}
              />
            ))}
          </ul>
        )}
      {adding.value && <InviteDialog {...props} onClose={() => adding.value = false} />}
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
            ? t(gone.isThisPhone ? "me.phone_remove_title_here" : "me.phone_remove_title")
            : t("me.phone_remove_title_named", { name: gone.name })}
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
  readonly onRemove: () => void;
  readonly onRename: () => void;
}

function PhoneRow({ models, device, onRemove, onRename }: PhoneRowProps) {
  const name = phoneName(device);
  return (
    <li class="me-row">
      <Symbol name="smartphone" size={20} />
      <div class="me-row-text">
        <span class="me-row-name">
          <strong>
            <bdi>{device.name ?? t("me.phone")}</bdi>
          </strong>
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
        {device.isLast && <span class="quiet small">{t("me.last_factor")}</span>}
      </div>
      <div class="me-row-ends">
        <RowButton icon="pencil" verb={t("me.phone_rename")} name={name} onPress={onRename} />
        {!device.isLast && <RowButton icon="trash-2" verb={t("me.remove")} name={name} onPress={onRemove} />}
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
      <Symbol name={icon} />
      <span>
        {verb}
        <span class="unseen">{` ${name}`}</span>
      </span>
    </button>
  );
}

function RenameDialog({ account, device, onClose }: FactorProps & { device: MeDevice; onClose: () => void }) {
  const name = useSignal(device.name ?? "");
  const problem = useSignal<string | null>(null);
  const { busy, run } = useDeed();
  const rename = async () => {
    const done = await account.run({
      call: () => account.calls.renameDevice(device.pairingId, name.value),
      said: t("me.phone_renamed"),
      onProblem: (sentence) => problem.value = sentence,
    });
    if (done !== null) onClose();
  };
  return (
    <Dialog title={t("me.phone_rename")} onClose={onClose}>
      <form
        class="me-form"
        onSubmit={(event) => {
          event.preventDefault();
          void run(rename);
        }}
      >
        <TextField
          id="phone-name"
          label={t("me.phone_name")}
          text={name}
          problem={problem.value}
          input={{ required: true, autofocus: true, maxLength: MAX_PHONE_NAME_CHARACTERS }}
        />
        <button type="submit" class="button button-primary" disabled={busy.value}>
          {t("me.phone_rename")}
        </button>
      </form>
    </Dialog>
  );
}

function phoneName({ name, isThisPhone }: MeDevice): string {
  return name ?? t(isThisPhone ? "me.this_phone" : "me.phone");
}
