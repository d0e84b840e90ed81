/** The two forms of a SHA-256 digest. */
import * as z from 'zod'

/** 64 hexadecimal digits. */
export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/)

/** With its algorithm, as snapshot ids and receipts have it. */
export const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/)
