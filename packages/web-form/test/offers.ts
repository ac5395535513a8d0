import type { FormContent, Offer } from '../src/index.ts'

/** A content with every type of element, in two languages. */
export const CONTENTS: Readonly<Record<'en' | 'ar', FormContent>> = {
  en: contentWith({
    title: 'Your opinion',
    score: 'How likely are you to recommend us?',
    reason: 'How could we improve?',
    stars: 'How was the delivery?',
    plan: 'Which plan do you use?',
    monthly: 'Monthly',
    yearly: 'Yearly',
    uses: 'Where do you use it?',
    work: 'At work',
    home: 'At home',
    contact: 'You may contact me',
    docs: 'Read more',
    thanks: 'Thank you for your time.',
  }),
  ar: contentWith({
    title: 'رأيك',
    score: 'ما مدى احتمال أن توصي بنا؟',
    reason: 'كيف يمكننا التحسين؟',
    stars: 'كيف كان التوصيل؟',
    plan: 'ما الخطة التي تستخدمها؟',
    monthly: 'شهرية',
    yearly: 'سنوية',
    uses: 'أين تستخدمه؟',
    work: 'في العمل',
    home: 'في المنزل',
    contact: 'يمكنكم الاتصال بي',
    docs: 'اقرأ المزيد',
    thanks: 'شكرًا على وقتك.',
  }),
}

function contentWith(texts: Readonly<Record<string, string>>): FormContent {
  const text = (name: string) => texts[name] ?? ''
  const options = (...ids: readonly string[]) => ids.map((id) => ({ id, label: text(id) }))
  return {
    title: text('title'),
    elements: [
      { id: 'score', type: 'nps', label: text('score'), required: true },
      { id: 'reason', type: 'text', label: text('reason'), maxLength: 20, showIf: { answer: 'score', atMost: 6 } },
      { id: 'stars', type: 'rating', label: text('stars'), scale: 5 },
      { id: 'plan', type: 'choice', label: text('plan'), options: options('monthly', 'yearly'), other: true },
      {
        id: 'uses',
        type: 'choices',
        label: text('uses'),
        options: options('work', 'home'),
        other: true,
        atLeast: 1,
        atMost: 2,
      },
      { id: 'contact', type: 'consent', label: text('contact') },
      { id: 'docs', type: 'link', label: text('docs'), url: 'https://example.com/docs' },
    ],
    thanks: text('thanks'),
  }
}

export function offerOf(content: FormContent, language = 'en'): Offer {
  return { offerId: 'offer-1', formId: 'nps', revision: 3, language, content }
}
