/**
 * Replaces an invalid browser language. uPlot passes the language to `Intl` on import, and a headless Chromium in a POSIX
 * locale reports `en-US@posix`, which `Intl` rejects: the page would stay empty. Import this file first.
 */
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US' })
}
