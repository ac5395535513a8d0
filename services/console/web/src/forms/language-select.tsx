import { useNavigate } from '@tanstack/react-router'
import { nameOfLanguage } from './name-of-language.ts'

interface LanguageSelectProps {
  readonly languages: readonly string[]
  readonly chosen: string | undefined
  /** Label of the option for all languages; absent: there is none. */
  readonly all?: string
}

/** Choice of a language of a form, kept in the address. */
export function LanguageSelect({ languages, chosen, all }: LanguageSelectProps) {
  const navigate = useNavigate()
  const choose = (language: string) =>
    void navigate({ to: '.', replace: true, search: (now) => ({ ...now, language: language || undefined }) })
  return (
    <label>
      Language
      <select value={chosen ?? ''} onChange={(event) => choose(event.target.value)}>
        {all !== undefined && <option value="">{all}</option>}
        {languages.map((language) => (
          <option key={language} value={language}>
            {nameOfLanguage(language)}
          </option>
        ))}
      </select>
    </label>
  )
}
