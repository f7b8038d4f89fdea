// The dialog that starts a campaign: the users, the options, and a preview of who is invited and who is not.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { CampaignPreview } from "../../../api/enrolment/campaigns.ts";
import { failureText } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { Alert, Skeleton } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { ReadOnlyField, SelectField, TextField } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { FormFields } from "../../components/form_fields.tsx";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";
import { GroupPicker } from "../users/user_groups.tsx";
import {
  fetchEnrolmentOptions,
  type InviteChoice,
  type InviteOptions,
  previewInvitations,
  skipReasons,
  startInvitations,
} from "./enrolment_calls.ts";

interface InviteDialogProps {
  readonly models: Models;
  /** The users; `null`: the administrator chooses a group or all users. */
  readonly choice: InviteChoice | null;
  /** The name of the campaign; it can be changed. */
  readonly name?: string;
  readonly onClose: () => void;
  /** Called after the campaign began. */
  readonly onStarted: () => void;
}

type Draft = Readonly<{
  deadlineDays: string;
  maximum: string;
  perMinute: string;
  reminders: boolean;
  includesNumbers: boolean;
  again: boolean;
}>;

const PRESET: Draft = {
  deadlineDays: "0",
  maximum: "",
  perMinute: "300",
  reminders: true,
  includesNumbers: true,
  again: false,
};
const EVERYONE = {
  filters: { q: "", status: "active", enrolled: "", inactive: "", backend: "", sync: "" },
} as const satisfies InviteChoice;
const PREVIEW_DELAY_MS = 300;

/** Loads the defaults first, so that the fields do not change while they are edited. */
export function InviteDialog(props: InviteDialogProps) {
  const { models, onClose } = props;
  const draft = useSignal<Draft | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    fetchEnrolmentOptions(models).then(
      ({ deadlineDays, perMinute }) => {
        draft.value = { ...PRESET, deadlineDays: String(deadlineDays), perMinute: String(perMinute) };
      },
      (fault: unknown) => problem.value = failureText(fault),
    );
  }, []);
  if (draft.value !== null) return <InviteForm {...props} draft={draft as Signal<Draft>} />;
  return (
    <FormDialog
      title={t("enrolment.invite_title")}
      submitLabel={t("enrolment.invite_verb")}
      reason=""
      onSubmit={() => Promise.resolve("stay")}
      onClose={onClose}
    >
      {problem.value === null
        ? <Skeleton rows={5} />
        : <Alert tone="bad" role="alert">{problem.value}</Alert>}
    </FormDialog>
  );
}

function InviteForm(
  { models, choice: given, name: proposed, draft, onClose, onStarted }: InviteDialogProps & {
    readonly draft: Signal<Draft>;
  },
) {
  const name = useSignal(
    proposed ?? t("enrolment.campaign_of", { date: new Date().toISOString().slice(0, 10) }),
  );
  const choice = useSignal<InviteChoice | null>(given ?? EVERYONE);
  const options = optionsOf(draft.value);
  const preview = usePreview(models, { choice: choice.value, options });
  const reason = submitReason({ name: name.value, options, preview: preview.value });
  return (
    <FormDialog
      title={t("enrolment.invite_title")}
      submitLabel={t("enrolment.invite_verb")}
      failureTitle={t("enrolment.invite_failed")}
      reason={reason}
      wide
      onClose={onClose}
      onSubmit={async () => {
        if (choice.value === null || options === null) return "stay";
        await startInvitations(models, { name: name.value.trim(), choice: choice.value, options });
        models.toasts.show(t("enrolment.invite_started", { name: name.value.trim() }), { tone: "ok" });
        onStarted();
      }}
    >
      <TextField
        id="campaign-name"
        label={t("enrolment.campaign_name")}
        text={name}
        input={{ required: true, maxLength: 100 }}
      />
      {given === null ? <ChooseUsers models={models} choice={choice} /> : <ChosenUsers choice={given} />}
      <FormFields
        prefix="campaign"
        draft={draft}
        rows={[
          {
            name: "deadlineDays",
            label: "enrolment.deadline_days",
            hint: "enrolment.deadline_days_hint",
            input: { type: "number", min: 0, max: 365, required: true },
          },
          { name: "reminders", label: "enrolment.reminders", hint: "enrolment.reminders_hint" },
          {
            name: "includesNumbers",
            label: "enrolment.includes_numbers",
            hint: "enrolment.includes_numbers_hint",
          },
          { name: "again", label: "enrolment.again", hint: "enrolment.again_hint" },
          {
            name: "maximum",
            label: "enrolment.maximum",
            hint: "enrolment.maximum_hint",
            input: { type: "number", min: 1, max: 1_000_000 },
          },
          {
            name: "perMinute",
            label: "enrolment.per_minute",
            input: { type: "number", min: 1, max: 60_000, required: true },
          },
        ]}
      />
      <Preview of={preview.value} />
    </FormDialog>
  );
}

/** `null`: a number is not valid. */
function optionsOf({ deadlineDays, maximum, perMinute, ...rest }: Draft): InviteOptions | null {
  const [days, most, pace] = [deadlineDays, maximum || "1000000", perMinute].map(Number);
  const isWhole = (value: number | undefined, min: number, max: number): value is number =>
    value !== undefined && Number.isInteger(value) && value >= min && value <= max;
  if (!isWhole(days, 0, 365) || !isWhole(most, 1, 1_000_000) || !isWhole(pace, 1, 60_000)) return null;
  return { ...rest, deadlineDays: days, maximum: most, perMinute: pace };
}

type PreviewState = CampaignPreview | { readonly problem: string } | null;

function submitReason(
  { name, options, preview }: { name: string; options: InviteOptions | null; preview: PreviewState },
): string | undefined {
  if (name.trim() === "" || options === null || preview === null || "problem" in preview) return "";
  if (!preview.canInvite) return t("enrolment.no_phone_service");
  if (!preview.isMailConfigured) return t("enrolment.mail_off");
  return preview.invited === 0 ? t("enrolment.preview_none") : undefined;
}

/** The preview of the newest choice. `null`: it is being made. */
function usePreview(
  models: Models,
  { choice, options }: { choice: InviteChoice | null; options: InviteOptions | null },
): Signal<PreviewState> {
  const preview = useSignal<PreviewState>(null);
  const key = JSON.stringify([choice, options]);
  useEffect(() => {
    preview.value = null;
    if (choice === null || options === null) return;
    let isNewest = true;
    const show = (value: PreviewState): void => {
      if (isNewest) preview.value = value;
    };
    const timer = setTimeout(() => {
      previewInvitations(models, { choice, options }).then(
        show,
        (fault: unknown) => show({ problem: failureText(fault) }),
      );
    }, PREVIEW_DELAY_MS);
    return () => {
      isNewest = false;
      clearTimeout(timer);
    };
  }, [key]);
  return preview;
}

function ChooseUsers({ models, choice }: { models: Models; choice: Signal<InviteChoice | null> }) {
  const kind = useSignal("everyone");
  const now = choice.value;
  return (
    <>
      <SelectField
        id="campaign-users"
        label={t("shell.users")}
        value={kind.value}
        options={["everyone", "group"].map((value) => ({
          value,
          label: t(`enrolment.users_${value}` as MessageKey),
        }))}
        onChoose={(value) => {
          kind.value = value;
          choice.value = value === "everyone" ? EVERYONE : null;
        }}
      />
      {now !== null && "group" in now && (
        <ReadOnlyField label={t("common.group")}>
          <bdi>{now.group}</bdi>{" "}
          <Button small icon="x" of={now.group} onClick={() => choice.value = null}>
            {t("enrolment.other_group")}
          </Button>
        </ReadOnlyField>
      )}
      {kind.value === "group" && now === null && (
        <GroupPicker
          models={models}
          target=""
          taken={[]}
          onPick={(group) => {
            choice.value = { group };
            return Promise.resolve();
          }}
        />
      )}
    </>
  );
}

function ChosenUsers({ choice }: { choice: InviteChoice }) {
  const text = "names" in choice
    ? t("enrolment.users_selected", { count: choice.names.length })
    : "group" in choice
    ? choice.group
    : t("enrolment.users_filtered");
  return (
    <ReadOnlyField label={t("shell.users")}>
      <bdi>{text}</bdi>
    </ReadOnlyField>
  );
}

function Preview({ of }: { of: PreviewState }) {
  if (of === null) return <p class="quiet" role="status">{t("enrolment.preview_loading")}</p>;
  if ("problem" in of) return <Alert tone="bad" role="alert">{of.problem}</Alert>;
  const { total, invited, skipped, names, minutes, isMailConfigured, canInvite, localUrl } = of;
  return (
    <>
      {!canInvite && <Alert tone="bad" role="alert">{t("enrolment.no_phone_service")}</Alert>}
      {canInvite && !isMailConfigured && <Alert tone="bad" role="alert">{t("enrolment.mail_off")}</Alert>}
      {localUrl !== null && <Alert tone="wait">{t("enrolment.local_url", { url: localUrl })}</Alert>}
      <section class="panel people-panel" aria-label={t("enrolment.preview")}>
        <p role="status">
          <strong>{t("enrolment.preview_invited", { count: invited, total })}</strong>{" "}
          {invited > 0 && t("enrolment.preview_minutes", { count: minutes })}
        </p>
        <ul class="people-consequences">
          {skipReasons(skipped).map(([reason, count]) => (
            <li key={reason}>
              {t("enrolment.preview_skipped", {
                count,
                reason: t(`enrolment.reason_${reason}` as MessageKey),
              })} <bdi class="quiet">{namesText(names[reason] ?? [], count)}</bdi>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

const MAX_NAMES = 5;

function namesText(names: readonly string[], count: number): string {
  const shown = names.slice(0, MAX_NAMES).join(", ");
  return count > MAX_NAMES ? `${shown}, …` : shown;
}
