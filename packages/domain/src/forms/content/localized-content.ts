import type { ContentElement, ContentText, FormContent, LocalizedContent, LocalizedElement } from '@nextvisit/contracts'

/** Returns a content with its texts in one of its languages. */
export function localizedContent({ title, elements, thanks }: FormContent, language: string): LocalizedContent {
  const inLanguage = (text: ContentText): string => {
    if (typeof text === 'string') return text
    const own = Object.hasOwn(text, language) ? text[language] : undefined
    return own ?? Object.values(text)[0] ?? ''
  }
  return {
    ...(title !== undefined && { title: inLanguage(title) }),
    elements: elements.map((element) => localizedElement(element, inLanguage)),
    ...(thanks !== undefined && { thanks: inLanguage(thanks) }),
  }
}

function localizedElement(element: ContentElement, inLanguage: (text: ContentText) => string): LocalizedElement {
  return {
    ...element,
    ...(element.label !== undefined && { label: inLanguage(element.label) }),
    ...('options' in element && {
      options: element.options.map(({ id, label }) => ({ id, label: inLanguage(label) })),
    }),
  } as LocalizedElement
}
