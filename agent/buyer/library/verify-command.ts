/** The action of the command `verify`: one line for each check of a purchase, or of an answer and its receipt. */
import { basename } from 'node:path'
import { FREE_PATHS } from '../../operation/endpoints.ts'
import type { ReceiptClaims } from '../../payment/receipt/claims.ts'
import { readAnswer } from '../../payment/receipt/read.ts'
import { verifyReceipt, type ReceiptCheck, type VerifiedReceipt } from '../../payment/receipt/verify.ts'
import { parseJson } from '../../../store/base/read-body.ts'
import type { Fetch } from '../../../store/base/bounded-fetch.ts'
import { readAnswerFile, readReceiptFile, readTextFile } from './answer-file.ts'
import {
  checkResponse,
  describe,
  fetchKeySet,
  keySetSchema,
  keySetUrl,
  purchasedReceipt,
  verifyPurchase,
} from './verify-purchase.ts'

interface VerifyOptions {
  /** A purchase or an answer, in one of the forms of `readAnswerFile`. */
  file: string
  /** For an answer without a receipt in its file: one of the forms of `readReceiptFile`. */
  receiptFile: string | undefined
  /** The base URL that the receipt must name as its issuer. */
  issuer: string | undefined
  /** The file of a saved key set. By default it is fetched from the service. */
  keySetFile: string | undefined
  /** Checks that need the chain or the register. They run only if the signature is valid. */
  further: (claims: ReceiptClaims, answer: unknown) => Promise<ReceiptCheck[]>
  fetch: Fetch
  print: (line: string) => void
}

/** An answer with its receipt, and the URL of the key set that must have signed it. */
interface Subject {
  keySetUrl: string | undefined
  answer: unknown
  verify: (keySet: unknown) => Promise<VerifiedReceipt>
}

export async function verifyFile(options: VerifyOptions): Promise<boolean> {
  const { print, further } = options
  const subject = await readSubject(options)
  const keySet = await readKeySet(options, subject)
  const verified = await subject.verify(keySet)
  const checks = [...verified.checks]
  if (verified.claims && options.issuer !== undefined) checks.push(checkIssuer(verified.claims, options.issuer))
  if (verified.claims) checks.push(...(await further(verified.claims, subject.answer)))
  for (const { name, passed, detail } of checks) print(`${name.padEnd(10)}${passed ? 'ok     ' : 'FAILED '} ${detail}`)
  const isValid = checks.every(({ passed }) => passed)
  print(
    isValid
      ? `The receipt of ${verified.claims?.iss} is valid for this answer.`
      : 'THE RECEIPT IS NOT VALID for this answer.',
  )
  return isValid
}

function checkIssuer({ iss }: ReceiptClaims, expected: string): ReceiptCheck {
  const passed = iss === expected
  return { name: 'issuer', passed, detail: passed ? iss : `the receipt is of ${iss}` }
}

async function readSubject({ file, receiptFile }: VerifyOptions): Promise<Subject> {
  if (/^(?:spending|receiver)-[^/]*\.json$/.test(basename(file)))
    throw new Error(`${file} is no purchase. Take a file that "client purchases FOLDER" lists`)
  const content = await readAnswerFile(file)
  if (content.kind === 'answer') {
    const receipt = receiptFile === undefined ? content.enclosed : await readReceiptFile(receiptFile)
    if (!receipt) throw new Error(`${file} is neither a purchase nor an answer with its receipt: add --receipt`)
    const { answer } = content
    // The issuer that the receipt names could be the service of a forger.
    return { keySetUrl: undefined, answer, verify: (keySet) => verifyAnswer(answer, receipt, keySet) }
  }
  const { purchase } = content
  if (receiptFile !== undefined) throw new Error('--receipt is for an answer; a purchase file contains its receipt')
  if (purchasedReceipt(purchase) === undefined) throw new Error(`${file} has no paid answer with a receipt`)
  const answer = readAnswer(purchase.answer?.body ?? '')
  return { keySetUrl: keySetUrl(purchase), answer, verify: (keySet) => verifyPurchase(purchase, keySet) }
}

/** Without the purchase, the amount and the payer can only be shown. */
async function verifyAnswer(
  answer: unknown,
  { receipt, response }: Awaited<ReturnType<typeof readReceiptFile>>,
  keySet: unknown,
) {
  const verified = await verifyReceipt({ receipt, answer, keySet })
  const { claims } = verified
  if (!claims) return verified
  const detail = `${describe(claims.payment)} in transaction ${claims.payment.transaction}`
  const shown = { name: 'payment', passed: true, detail }
  return { ...verified, checks: [...verified.checks, shown, ...(response ? [checkResponse(response, claims)] : [])] }
}

async function readKeySet({ keySetFile, issuer, fetch }: VerifyOptions, subject: Subject): Promise<unknown> {
  if (keySetFile !== undefined) {
    const keySet = keySetSchema.safeParse(parseJson(await readTextFile(keySetFile))).data
    if (!keySet) throw new Error(`${keySetFile} is not a JWK Set`)
    return keySet
  }
  const url = issuer === undefined ? subject.keySetUrl : `${issuer}${FREE_PATHS.jwks}`
  if (url === undefined) throw new Error('The key set of the issuer is not known: add --issuer or --jwks')
  return fetchKeySet(fetch, url)
}
