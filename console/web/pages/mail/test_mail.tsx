// The dialog that sends a test message and shows what the server answered.

import { useSignal } from "@preact/signals";
import type { MailLanguage, MailTest } from "../../../api/mail/mail_types.ts";
import type { Models } from "../../app/app_context.ts";
import { spanText } from "../../app/format.ts";
import { useAction } from "../../app/action.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { t } from "../../i18n/translate.ts";
import { sendTestMail } from "./mail_calls.ts";
import { languageName } from "./template_text.ts";

interface TestMailProps {
  readonly models: Models;
  /** The language of the settings. */
  readonly language: MailLanguage;
  readonly onClose: () => void;
}

export function TestMailDialog({ models, language, onClose }: TestMailProps) {
  const to = useSignal("");
  const chosen = useSignal<MailLanguage>(language);
  const result = useSignal<MailTest | null>(null);
  const action = useAction();
  const send = () =>
    action.run(async () => {
      result.value = null;
      result.value = await sendTestMail(models, { to: to.value.trim(), language: chosen.value });
    });
  return (
    <Dialog
      title={t("mail.test")}
      onClose={onClose}
      action={action}
      footer={
        <>
          <Button onClick={onClose}>{t("common.close")}</Button>
          <Button type="submit" form="test-mail" kind="primary" busy={action.busy.value}>
            {t("mail.test_send")}
          </Button>
        </>
      }
    >
      <form
        id="test-mail"
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <ErrorAlert of={action.fault} />
        {result.value !== null && <TestResult result={result.value} />}
        <TextField
          id="test-mail-to"
          label={t("mail.to")}
          text={to}
          input={{ type: "email", maxLength: 254, autofocus: true, required: true }}
        />
        <SelectField
          id="test-mail-language"
          label={t("common.language")}
          options={[{ value: "en", label: languageName("en") }, { value: "de", label: languageName("de") }]}
          value={chosen.value}
          onChoose={(value) => chosen.value = value === "de" ? "de" : "en"}
        />
      </form>
    </Dialog>
  );
}

function TestResult({ result: { ok, problem, detail, tookMs } }: { result: MailTest }) {
  return (
    <Alert tone={ok ? "ok" : "bad"} icon={ok ? "check" : "alert"} role="status">
      {problem === null ? t("mail.test_accepted") : t(`mail.problem_${problem}`)}{" "}
      {t("mail.test_took", { time: spanText(tookMs) })}
      {detail !== "" && (
        <div>
          <bdi class="mono small">{detail}</bdi>
        </div>
      )}
    </Alert>
  );
}
