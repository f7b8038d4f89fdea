// A button on another page that invites some users: it loads them, and opens the dialog.

import { useSignal } from "@preact/signals";
import { useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import { permissionHint } from "../../app/session_model.ts";
import { ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { lazy } from "../../components/lazy.tsx";
import type { InviteChoice } from "./enrolment_calls.ts";

const InviteDialog = lazy(async () => (await import("./invite_dialog.tsx")).InviteDialog);

interface InviteButtonProps {
  readonly models: Models;
  readonly label: string;
  /** The proposed name of the campaign. */
  readonly name: string;
  readonly users: () => InviteChoice | Promise<InviteChoice>;
}

export function InviteButton({ models, label, name, users }: InviteButtonProps) {
  const choice = useSignal<InviteChoice | null>(null);
  const { busy, fault, run } = useAction();
  return (
    <>
      <ErrorAlert of={fault} />
      <Button
        icon="send"
        reason={permissionHint(models, "user_manager")}
        busy={busy.value}
        onClick={() => run(async () => void (choice.value = await users()))}
      >
        {label}
      </Button>
      {choice.value !== null && (
        <InviteDialog
          models={models}
          choice={choice.value}
          name={name.slice(0, 100)}
          onClose={() => choice.value = null}
          onStarted={() => undefined}
        />
      )}
    </>
  );
}
