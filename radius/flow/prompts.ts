// What people read: the text of every Reply-Message. Placeholders in braces are filled by pure/render.ts; the menu and every prompt
// end with the instruction that Cancel starts over.

/** Values that a prompt may show. */
export type PromptValue = "menu" | "letters" | "number" | "numbers" | "digits" | "terminal";

/** Ends with a blank: some clients show what is typed right behind it. */
const CANCEL = "Type cancel to start over. ";

/** `final`: goes with an Accept or a Reject, so it asks for nothing. */
// deno-fmt-ignore
export const PROMPTS = {
  menu: { text: `Choose a second factor:\n{menu}\n${CANCEL}` },
  short_menu: { text: `{letters}\n${CANCEL}` },
  approve_on_device: { text: `Authorize this login on your device{number}, then press continue or type ok.\n${CANCEL}` },
  push_unsent: { text: `The approval request could not be sent to your device. Type cancel to choose another factor.\n${CANCEL}` },
  still_waiting: { text: `Still waiting for your device{number}. Authorize there, then press continue or type ok.\n${CANCEL}` },
  service_down: { text: `The approval cannot be checked right now. Press continue or type ok to try again.\n${CANCEL}` },
  too_many_pushes: { text: `Too many approval requests were sent lately. Choose another factor:\n{menu}\n${CANCEL}` },
  no_device: { text: `No device is paired with your name. Choose another factor:\n{menu}\n${CANCEL}` },
  no_device_code: { text: `No device of yours generates passcodes. Choose another factor:\n{menu}\n${CANCEL}` },
  code_not_possible: { text: `A device passcode cannot be checked right now. Choose another factor:\n{menu}\n${CANCEL}` },
  text_not_sent: { text: `The text message could not be sent. Choose another factor:\n{menu}\n${CANCEL}` },
  ask_phrase: { text: `Enter the pairing phrase that your phone shows.\n${CANCEL}` },
  unknown_phrase: { text: `That pairing phrase is not known. Enter the phrase that your phone shows.\n${CANCEL}` },
  phrase_not_checked: { text: `The phrase cannot be checked right now. Enter the pairing phrase again.\n${CANCEL}` },
  confirm_pairing: { text: `Confirm the pairing on your phone, then press continue or type ok.\n${CANCEL}` },
  pairing_still_pending: { text: `The pairing is not confirmed yet. Confirm it on your phone, then press continue or type ok.\n${CANCEL}` },
  pairing_not_checked: { text: `The pairing cannot be checked right now. Press continue or type ok to try again.\n${CANCEL}` },
  ask_sms_number: { text: `Enter an SMS-capable phone number prefixed with + and the country code, with no dashes.\n${CANCEL}` },
  which_sms_number: { text: `Text which number? Enter its line number.\n{numbers}\n${CANCEL}` },
  ask_voice_number: { text: `Enter a phone number prefixed with + and the country code, with no dashes.\n${CANCEL}` },
  which_voice_number: { text: `Call which number? Enter its line number.\n{numbers}\n${CANCEL}` },
  enter_texted_code: { text: `Enter the passcode from the text message.\n${CANCEL}` },
  enter_spoken_code: { text: `Enter the passcode conveyed by voice.\n${CANCEL}` },
  ask_device_code: { text: `Enter the passcode that your device generates.\n${CANCEL}` },
  code_not_checked: { text: `The passcode cannot be checked right now. Enter a new one in a moment.\n${CANCEL}` },

  accepted: { text: "Welcome.", final: true },
  denied: { text: "Access denied.", final: true },
  not_given: { text: "Device approval was not given.", final: true },
  mismatch: { text: "The submitted passcode does not match.", final: true },
  pairing_denied: { text: "The pairing was not confirmed.", final: true },
  gone: { text: "This login is over. Start a new one.", final: true },
  unknown_state: { text: "This login is not known here. Start a new one.", final: true },
  not_supported: { text: "This way of signing in is not supported here.", final: true },
} as const satisfies Record<string, { text: string; final?: true }>;

export type Prompt = keyof typeof PROMPTS;
