/** The fixed words of a form. `{n}` and `{m}` are replaced by numbers. */
export interface Words {
  readonly send: string
  readonly sending: string
  readonly close: string
  /** Mark of a required element. */
  readonly required: string
  /** Message if a required answer is missing. */
  readonly missing: string
  readonly atLeast: string
  readonly atMost: string
  /** Limits of choices: from `{n}` to `{m}`, or `{n}`. */
  readonly between: string
  readonly exactly: string
  readonly tooLong: string
  /** Option for a text of the user. */
  readonly other: string
  /** Answers to a required consent. */
  readonly yes: string
  readonly no: string
  /** Name of a field without a label, and of the text of `other`. */
  readonly answer: string
  /** Ends of the scale of `nps`. */
  readonly unlikely: string
  readonly likely: string
  readonly newTab: string
  readonly failed: string
  /** Shown once the form is finished, if its content has no `thanks`. */
  readonly sent: string
}

const en: Words = {
  send: 'Send',
  sending: 'Sending…',
  close: 'Close',
  required: 'required',
  missing: 'Please answer this question.',
  atLeast: 'Choose at least {n}.',
  atMost: 'Choose at most {n}.',
  between: 'Choose {n} to {m}.',
  exactly: 'Choose exactly {n}.',
  tooLong: 'Use at most {n} characters.',
  other: 'Other',
  yes: 'Yes',
  no: 'No',
  answer: 'Your answer',
  unlikely: 'Not at all likely',
  likely: 'Extremely likely',
  newTab: 'opens in a new tab',
  failed: 'Your answers could not be sent. Try again.',
  sent: 'Your answers were sent.',
}

const WORDS: Readonly<Record<string, Words>> = {
  en,
  de: {
    send: 'Senden',
    sending: 'Wird gesendet …',
    close: 'Schließen',
    required: 'erforderlich',
    missing: 'Bitte beantworten Sie diese Frage.',
    atLeast: 'Wählen Sie mindestens {n} aus.',
    atMost: 'Wählen Sie höchstens {n} aus.',
    between: 'Wählen Sie {n} bis {m} aus.',
    exactly: 'Wählen Sie genau {n} aus.',
    tooLong: 'Verwenden Sie höchstens {n} Zeichen.',
    other: 'Sonstiges',
    yes: 'Ja',
    no: 'Nein',
    answer: 'Ihre Antwort',
    unlikely: 'Sehr unwahrscheinlich',
    likely: 'Sehr wahrscheinlich',
    newTab: 'öffnet einen neuen Tab',
    failed: 'Ihre Antworten konnten nicht gesendet werden. Versuchen Sie es noch einmal.',
    sent: 'Ihre Antworten wurden gesendet.',
  },
  fr: {
    send: 'Envoyer',
    sending: 'Envoi en cours…',
    close: 'Fermer',
    required: 'obligatoire',
    missing: 'Veuillez répondre à cette question.',
    atLeast: 'Choisissez au moins {n} réponse(s).',
    atMost: 'Choisissez au plus {n} réponse(s).',
    between: 'Choisissez de {n} à {m} réponses.',
    exactly: 'Choisissez exactement {n} réponse(s).',
    tooLong: 'Utilisez au plus {n} caractères.',
    other: 'Autre',
    yes: 'Oui',
    no: 'Non',
    answer: 'Votre réponse',
    unlikely: 'Pas du tout probable',
    likely: 'Très probable',
    newTab: 's’ouvre dans un nouvel onglet',
    failed: 'Vos réponses n’ont pas pu être envoyées. Réessayez.',
    sent: 'Vos réponses ont été envoyées.',
  },
  es: {
    send: 'Enviar',
    sending: 'Enviando…',
    close: 'Cerrar',
    required: 'obligatorio',
    missing: 'Responda a esta pregunta.',
    atLeast: 'Elija al menos {n}.',
    atMost: 'Elija como máximo {n}.',
    between: 'Elija de {n} a {m}.',
    exactly: 'Elija exactamente {n}.',
    tooLong: 'Use como máximo {n} caracteres.',
    other: 'Otro',
    yes: 'Sí',
    no: 'No',
    answer: 'Su respuesta',
    unlikely: 'Nada probable',
    likely: 'Muy probable',
    newTab: 'se abre en una pestaña nueva',
    failed: 'No se pudieron enviar sus respuestas. Inténtelo de nuevo.',
    sent: 'Sus respuestas se han enviado.',
  },
  ar: {
    send: 'إرسال',
    sending: 'جارٍ الإرسال…',
    close: 'إغلاق',
    required: 'مطلوب',
    missing: 'يرجى الإجابة عن هذا السؤال.',
    atLeast: 'الحد الأدنى للاختيارات: {n}.',
    atMost: 'الحد الأقصى للاختيارات: {n}.',
    between: 'عدد الاختيارات: من {n} إلى {m}.',
    exactly: 'عدد الاختيارات: {n}.',
    tooLong: 'الحد الأقصى لعدد الأحرف: {n}.',
    other: 'غير ذلك',
    yes: 'نعم',
    no: 'لا',
    answer: 'إجابتك',
    unlikely: 'غير محتمل إطلاقًا',
    likely: 'محتمل جدًا',
    newTab: 'يُفتح في علامة تبويب جديدة',
    failed: 'تعذّر إرسال إجاباتك. حاول مرة أخرى.',
    sent: 'تم إرسال إجاباتك.',
  },
}

/** Returns the words in a language, with replacements. `de-CH` gets those of `de`, an unknown language those of `en`. */
export function wordsIn(language: string, replaced: Partial<Words> = {}): Words {
  const [main = ''] = language.toLowerCase().split('-')
  return { ...(Object.hasOwn(WORDS, main) ? WORDS[main] : en), ...replaced } as Words
}

const RIGHT_TO_LEFT = /^(?:ar|ckb|dv|fa|he|iw|ks|ps|sd|syr|ug|ur|yi|[a-z]+-(?:adlm|arab|hebr|nkoo|syrc|thaa))\b/
const LEFT_TO_RIGHT = /^[a-z]+-(?:cyrl|deva|latn)\b/

/** Returns the direction of a language tag, by its script if it names one. */
export function directionOf(language: string): 'ltr' | 'rtl' {
  const tag = language.toLowerCase()
  return RIGHT_TO_LEFT.test(tag) && !LEFT_TO_RIGHT.test(tag) ? 'rtl' : 'ltr'
}
