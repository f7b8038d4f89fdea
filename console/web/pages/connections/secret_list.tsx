// The tokens and client secrets of an identity provider: add, rotate with an overlap, revoke.

import { useSignal } from "@preact/signals";
import type { ConnectionSecretRow, SecretKind } from "../../../api/connections/connection_types.ts";
import type { Models } from "../../app/app_context.ts";
import { fullTimeText } from "../../app/format.ts";
import { permissionHint } from "../../app/session_model.ts";
import { EmptyState } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { useRows } from "../../components/row_actions.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { daysText } from "./connect_dialog.tsx";
import { addSecret, type ConnectionPart, revokeSecret, secretState } from "./connection_calls.ts";

/** The dialog: for another secret, or one that replaces a secret. */
type Open = "add" | ConnectionSecretRow | null;

export function SecretList(part: ConnectionPart) {
  const { models, item, page } = part;
  const { name } = item.settings;
  const open = useSignal<Open>(null);
  const reason = permissionHint(models, "owner");
  const rows = useRows(models, page);
  return (
    <section class="access-part" aria-label={t("connections.secrets")}>
      <div class="access-actions">
        <Button kind="primary" icon="plus" reason={reason} onClick={() => open.value = "add"}>
          {t("connections.secret_add")}
        </Button>
      </div>
      <div class="panel">
        {item.secrets.length === 0
          ? <EmptyState title={t("connections.secrets_none")} next={t("connections.secrets_none_next")} />
          : (
            <DataTable
              label={t("connections.secrets")}
              columns={columnsOf(models)}
              rows={item.secrets}
              keyOf={({ id }) => id}
              nameOf={secretName}
              actionsOf={(secret) => [
                {
                  label: t("connections.rotate"),
                  icon: "refresh-cw",
                  reason,
                  run: () => open.value = secret,
                },
                rows.action({
                  label: t("common.revoke"),
                  icon: "trash-2",
                  isBad: true,
                  needs: "owner",
                  ask: {
                    title: t("connections.revoke_title", { name }),
                    text: <RevokeText models={models} secret={secret} />,
                  },
                  async run() {
                    await revokeSecret(models, { name, id: secret.id });
                    return t("connections.revoked");
                  },
                }),
              ]}
            />
          )}
      </div>
      {open.value !== null && (
        <SecretDialogForm
          {...part}
          replaced={open.value === "add" ? null : open.value}
          onClose={() => open.value = null}
        />
      )}
    </section>
  );
}

const secretName = ({ kind, createdMs }: ConnectionSecretRow): string =>
  `${t(`connections.secret_${kind}`)} ${fullTimeText(createdMs)}`;

function columnsOf(models: Models): readonly TableColumn<ConnectionSecretRow>[] {
  const nowMs = models.clock.nowMs.value;
  return [
    {
      id: "kind",
      label: t("connections.secret_kind"),
      min: 140,
      cell: ({ kind }) => t(`connections.secret_${kind}`),
    },
    {
      id: "state",
      label: t("common.status"),
      min: 150,
      cell: (secret) => <StateText words={secretState([secret], nowMs)} />,
    },
    {
      id: "used",
      label: t("common.last_used"),
      width: "140px",
      cell: ({ usedMs, usedFrom }) =>
        usedMs === null ? t("common.never") : (
          <span title={usedFrom ?? ""}>
            <Time models={models} atMs={usedMs} />
          </span>
        ),
    },
    {
      id: "expires",
      label: t("common.expires"),
      width: "140px",
      priority: 2,
      cell: ({ expiresMs }) =>
        expiresMs === null ? t("common.never") : <Time models={models} atMs={expiresMs} />,
    },
    {
      id: "created",
      label: t("common.created_at"),
      min: 140,
      priority: 2,
      cell: ({ createdMs, createdBy }) => (
        <>
          <Time models={models} atMs={createdMs} /> <bdi class="quiet">{createdBy}</bdi>
        </>
      ),
    },
  ];
}

interface Draft {
  readonly kind: SecretKind;
  readonly days: number;
  readonly overlapHours: number;
}

const KIND_ROW: FieldRow<Draft> = {
  name: "kind",
  label: "connections.secret_kind",
  choices: ["token", "client_secret"],
  choiceLabel: (value) => t(`connections.secret_${value}`),
};
const DAYS_ROW: FieldRow<Draft> = {
  name: "days",
  label: "common.expires",
  choices: [0, 90, 180, 365],
  choiceLabel: daysText,
};
const OVERLAP_ROW: FieldRow<Draft> = {
  name: "overlapHours",
  label: "connections.overlap",
  hint: "connections.overlap_hint",
  choices: [24, 1, 168, 720, 0],
  choiceLabel: (hours) =>
    hours === 0
      ? t("connections.overlap_none")
      : hours < 48
      ? t("common.hours", { count: hours })
      : t("connections.days", { count: hours / 24 }),
};

interface SecretFormProps extends ConnectionPart {
  /** The secret that the new one replaces; `null` for another one beside it. */
  readonly replaced: ConnectionSecretRow | null;
  readonly onClose: () => void;
}

function SecretDialogForm({ models, item, page, replaced, onClose }: SecretFormProps) {
  const { name, kind } = item.settings;
  const draft = useSignal<Draft>({ kind: "token", days: 0, overlapHours: 24 });
  const title = t(replaced === null ? "connections.secret_add" : "connections.rotate");
  const withKind = replaced === null && kind === "other";
  return (
    <FormDialog
      title={title}
      submitLabel={title}
      onClose={onClose}
      onSubmit={async () => {
        const { days, overlapHours, ...more } = draft.value;
        const { secret } = await addSecret(models, name, {
          days: days === 0 ? null : days,
          ...replaced === null ? more : { replaces: replaced.id, overlapHours },
        });
        void page.reload();
        if (secret === null) return;
        return { title: t("connections.secret_of", { name }), secret: secret.text };
      }}
    >
      {replaced !== null && <p>{t("connections.rotate_what")}</p>}
      <FormFields
        prefix="secret"
        draft={draft}
        rows={[...withKind ? [KIND_ROW] : [], DAYS_ROW, ...replaced === null ? [] : [OVERLAP_ROW]]}
      />
    </FormDialog>
  );
}

function RevokeText({ models, secret: { usedMs } }: { models: Models; secret: ConnectionSecretRow }) {
  return (
    <>
      <p>{t("connections.revoke_why")}</p>
      <p class="quiet">
        {t("common.last_used")}:{" "}
        {usedMs === null ? t("common.never") : <Time models={models} atMs={usedMs} />}
      </p>
    </>
  );
}
