import { BODY_LIMITS, withSeparators } from '@nextvisit/contracts'
import { nameRules } from '../../bodies/rejection.ts'

const anOption = (other: boolean) => (other ? 'the id of an option, or { "other": "…" }' : 'the id of an option')

/** The rules for the answers to a form (forms.md, Answers), by name. `member` is `answers.` and the id of the element. */
export const ANSWER_RULES = nameRules({
  answeredForm: {
    message: 'formId must name a form of this project that has content',
    when: 'A form that the project does not have',
  },
  answeredRevision: {
    message: 'revision must be a revision of the content of this form',
    when: "A revision that the form's content does not have",
  },
  answeredContent: {
    message: 'The content of this form cannot be read now: try again',
    when: 'A form whose content this gateway does not have, or does not understand',
    status: 503,
  },
  answeredLanguage: {
    message: 'language must be a language of this form',
    when: 'A language that the content does not have',
  },
  noElement: (member: string) => ({
    message: `${member} must not be given: the form has no such element in this revision`,
    when: 'An element that the revision does not have',
  }),
  answerToLink: (member: string) => ({
    message: `${member} must not be given: a link has no answer`,
    when: 'An answer to a link',
  }),
  answerNumber: (member: string, min: number, max: number) => ({
    message: `${member} must be a whole number from ${min} to ${max}`,
    when: 'A number off the scale, or another type',
  }),
  answerText: (member: string, maxLength: number) => ({
    message: `${member} must be a string of at most ${withSeparators(maxLength)} characters`,
    when: 'A text that is too long, or another type',
  }),
  answerConsent: (member: string) => ({
    message: `${member} must be true or false`,
    when: 'A consent of another type',
  }),
  answerChoice: (member: string, other: boolean) => ({
    message: `${member} must be ${anOption(other)}`,
    when: 'Not an option of the element',
  }),
  answerChoices: (member: string, other: boolean) => ({
    message: `${member} must be an array in which each item is ${anOption(other)}, at most once`,
    when: 'Not options of the element, or one of them twice',
  }),
  answerOther: (member: string) => ({
    message: `${member} must be a string of at most ${withSeparators(BODY_LIMITS.otherTextLength)} characters`,
    when: 'A text in place of an option that is too long, or another type',
  }),
  answerAtMost: (member: string, atMost: number) => ({
    message: `${member} must have at most ${atMost} of the options`,
    when: 'Too many options',
  }),
  answerAtLeast: (member: string, atLeast: number) => ({
    message: `${member} must have at least ${atLeast} of the options in a finished form`,
    when: 'A finished form with too few options',
  }),
  answerRequired: (member: string) => ({
    message: `${member} must be given in a finished form`,
    when: 'A finished form without the answer to a required element',
  }),
})
