r"""Names of symbols at the cursor, and symbols of their names: `\alpha`, `\GREEK SMALL LETTER ALPHA`, `\α`.

In: a line up to the cursor. Out: what it can go on with, from the backslash on. Invariants: a whole name gives its
symbol, the beginning of one gives names, a symbol behind a backslash gives its name; LaTeX names are only those of
symbols that names in Python can hold. Source of the LaTeX names: the table of Julia's REPL
(`stdlib/REPL/src/latex_symbols.jl`; MIT licence, copyright by Jeff Bezanson, Stefan Karpinski, Viral B. Shah and
other contributors), as IPython has it.
"""

import re
import unicodedata

# behind the last backslash: a name of LaTeX, words of Unicode, or one symbol
TYPED = re.compile(r"\\([\w^!\-]+(?: [\w\-]+)*(?: )?|[^\s\\'\"\x00-\x7f])$")
LIMIT = 500
# without ideographs, syllables of Hangul and what is private
NAMED = (0x20, 0x3400), (0x4DC0, 0x4E00), (0xA000, 0xAC00), (0xD7B0, 0xD800), (0xFB00, 0x17000), (0x1AFF0, 0x20000)


def complete(line):
    """(where the backslash stands, what can stand there), or None where there is nothing of the kind."""
    match = TYPED.search(line)
    if match is None:
        return None
    typed = match.group(1)
    if len(typed) == 1 and not typed.isascii():
        names = names_of(typed)
    else:
        names = complete_latex(typed) or complete_unicode(typed)
    return (match.start(), names) if names else None


def names_of(symbol):
    r"""`\α`: what is written to get it."""
    names = ["\\" + name for name, code in latex_table().items() if code == symbol]
    unicode = unicodedata.name(symbol, "")
    return names[-1:] or (["\\" + unicode] if unicode else [])


def complete_latex(typed):
    table = latex_table()
    if typed in table:
        return [table[typed]]
    return ["\\" + name for name in sorted(table) if name.startswith(typed)]


def complete_unicode(typed):
    try:
        symbol = unicodedata.lookup(typed)
        if ("a" + symbol).isidentifier():
            return [symbol]
    except KeyError:
        pass
    if len(typed) < 3:
        return []  # thousands
    wanted = typed.upper()
    names = [name for name in unicode_names() if name.startswith(wanted)]
    if not names:
        names = [name for name in unicode_names() if all(word in name for word in wanted.split())]
    return ["\\" + name for name in names[:LIMIT]]


def latex_table():
    if not table:
        for entry in LATEX.split(";"):
            name, code = entry.split()
            table[name] = chr(int(code, 16))
    return table


def unicode_names():
    """All names but those that only count, in order. Takes a moment, once."""
    if not known:
        names = (unicodedata.name(chr(code), "") for codes in NAMED for code in range(*codes))
        known.extend(sorted(filter(None, names)))
    return known


table = {}  # name -> symbol
known = []
LATEX = r"""
euler 212f; ohm 2126; ^a 1d43; ^b 1d47; ^c 1d9c; ^d 1d48; ^e 1d49; ^f 1da0; ^g 1d4d; ^h 2b0; ^i 2071; ^j 2b2;
^k 1d4f; ^l 2e1; ^m 1d50; ^n 207f; ^o 1d52; ^p 1d56; ^r 2b3; ^s 2e2; ^t 1d57; ^u 1d58; ^v 1d5b; ^w 2b7; ^x 2e3;
^y 2b8; ^z 1dbb; ^A 1d2c; ^B 1d2e; ^D 1d30; ^E 1d31; ^G 1d33; ^H 1d34; ^I 1d35; ^J 1d36; ^K 1d37; ^L 1d38; ^M 1d39;
^N 1d3a; ^O 1d3c; ^P 1d3e; ^R 1d3f; ^T 1d40; ^U 1d41; ^V 2c7d; ^W 1d42; ^alpha 1d45; ^beta 1d5d; ^gamma 1d5e;
^delta 1d5f; ^epsilon 1d4b; ^theta 1dbf; ^iota 1da5; ^phi 1d60; ^chi 1d61; ^ltphi 1db2; ^uparrow a71b;
^downarrow a71c; ^! a71d; _a 2090; _e 2091; _h 2095; _i 1d62; _j 2c7c; _k 2096; _l 2097; _m 2098; _n 2099; _o 2092;
_p 209a; _r 1d63; _s 209b; _t 209c; _u 1d64; _v 1d65; _x 2093; _schwa 2094; _beta 1d66; _gamma 1d67; _rho 1d68;
_phi 1d69; _chi 1d6a; hbar 127; sout 336; ordfeminine aa; cdotp b7; ordmasculine ba; AA c5; AE c6; DH d0; O d8;
TH de; ss df; aa e5; ae e6; eth f0; dh f0; o f8; th fe; DJ 110; dj 111; imath 131; jmath 237; L 141; l 142; NG 14a;
ng 14b; OE 152; oe 153; hvlig 195; nrleg 19e; doublepipe 1c2; trna 250; trnsa 252; openo 254; rtld 256; schwa 259;
varepsilon 3b5; pgamma 263; pbgam 264; trnh 265; btdl 26c; rtll 26d; trnm 26f; trnmlr 270; ltlmr 271; ltln 272;
rtln 273; clomeg 277; ltphi 278; trnr 279; trnrl 27a; rttrnr 27b; rl 27c; rtlr 27d; fhr 27e; rtls 282; esh 283;
trnt 287; rtlt 288; pupsil 28a; pscrv 28b; invv 28c; invw 28d; trny 28e; rtlz 290; yogh 292; glst 294; reglst 295;
inglst 296; turnk 29e; dyogh 2a4; tesh 2a7; rasp 2bc; verts 2c8; verti 2cc; lmrk 2d0; hlmrk 2d1; grave 300;
acute 301; hat 302; tilde 303; bar 304; breve 306; dot 307; ddot 308; ocirc 30a; H 30b; check 30c; palh 321; rh 322;
c 327; k 328; sbbrg 32a; strike 336; Alpha 391; Beta 392; Gamma 393; Delta 394; Epsilon 395; Zeta 396; Eta 397;
Theta 398; Iota 399; Kappa 39a; Lambda 39b; Xi 39e; Pi 3a0; Rho 3a1; Sigma 3a3; Tau 3a4; Upsilon 3a5; Phi 3a6;
Chi 3a7; Psi 3a8; Omega 3a9; alpha 3b1; beta 3b2; gamma 3b3; delta 3b4; zeta 3b6; eta 3b7; theta 3b8; iota 3b9;
kappa 3ba; lambda 3bb; mu 3bc; nu 3bd; xi 3be; pi 3c0; rho 3c1; varsigma 3c2; sigma 3c3; tau 3c4; upsilon 3c5;
varphi 3c6; chi 3c7; psi 3c8; omega 3c9; vartheta 3d1; phi 3d5; varpi 3d6; Stigma 3da; Digamma 3dc; digamma 3dd;
Koppa 3de; Sampi 3e0; varkappa 3f0; varrho 3f1; varTheta 3f4; epsilon 3f5; dddot 20db; ddddot 20dc; hslash 210f;
Im 2111; ell 2113; wp 2118; Re 211c; aleph 2135; beth 2136; gimel 2137; daleth 2138; bbPi 213f; Zbar 1b5;
overbar 305; ovhook 309; candra 310; oturnedcomma 312; ocommatopright 315; droang 31a; wideutilde 330; not 338;
Mu 39c; Nu 39d; Omicron 39f; omicron 3bf; varbeta 3d0; oldKoppa 3d8; oldkoppa 3d9; stigma 3db; koppa 3df; sampi 3e1;
tieconcat 2040; leftharpoonaccent 20d0; rightharpoonaccent 20d1; vertoverlay 20d2; overleftarrow 20d6; vec 20d7;
overleftrightarrow 20e1; annuity 20e7; threeunderdot 20e8; widebridgeabove 20e9; bbC 2102; eulermascheroni 2107;
scrg 210a; scrH 210b; frakH 210c; bbH 210d; planck 210e; scrI 2110; scrL 2112; bbN 2115; bbP 2119; bbQ 211a;
scrR 211b; bbR 211d; bbZ 2124; frakZ 2128; Angstrom 212b; scrB 212c; frakC 212d; scre 212f; scrE 2130; scrF 2131;
Finv 2132; scrM 2133; scro 2134; bbgamma 213d; bbGamma 213e; bbiD 2145; bbid 2146; bbie 2147; bbii 2148; bbij 2149;
bfA 1d400; bfB 1d401; bfC 1d402; bfD 1d403; bfE 1d404; bfF 1d405; bfG 1d406; bfH 1d407; bfI 1d408; bfJ 1d409;
bfK 1d40a; bfL 1d40b; bfM 1d40c; bfN 1d40d; bfO 1d40e; bfP 1d40f; bfQ 1d410; bfR 1d411; bfS 1d412; bfT 1d413;
bfU 1d414; bfV 1d415; bfW 1d416; bfX 1d417; bfY 1d418; bfZ 1d419; bfa 1d41a; bfb 1d41b; bfc 1d41c; bfd 1d41d;
bfe 1d41e; bff 1d41f; bfg 1d420; bfh 1d421; bfi 1d422; bfj 1d423; bfk 1d424; bfl 1d425; bfm 1d426; bfn 1d427;
bfo 1d428; bfp 1d429; bfq 1d42a; bfr 1d42b; bfs 1d42c; bft 1d42d; bfu 1d42e; bfv 1d42f; bfw 1d430; bfx 1d431;
bfy 1d432; bfz 1d433; itA 1d434; itB 1d435; itC 1d436; itD 1d437; itE 1d438; itF 1d439; itG 1d43a; itH 1d43b;
itI 1d43c; itJ 1d43d; itK 1d43e; itL 1d43f; itM 1d440; itN 1d441; itO 1d442; itP 1d443; itQ 1d444; itR 1d445;
itS 1d446; itT 1d447; itU 1d448; itV 1d449; itW 1d44a; itX 1d44b; itY 1d44c; itZ 1d44d; ita 1d44e; itb 1d44f;
itc 1d450; itd 1d451; ite 1d452; itf 1d453; itg 1d454; ith 210e; iti 1d456; itj 1d457; itk 1d458; itl 1d459;
itm 1d45a; itn 1d45b; ito 1d45c; itp 1d45d; itq 1d45e; itr 1d45f; its 1d460; itt 1d461; itu 1d462; itv 1d463;
itw 1d464; itx 1d465; ity 1d466; itz 1d467; biA 1d468; biB 1d469; biC 1d46a; biD 1d46b; biE 1d46c; biF 1d46d;
biG 1d46e; biH 1d46f; biI 1d470; biJ 1d471; biK 1d472; biL 1d473; biM 1d474; biN 1d475; biO 1d476; biP 1d477;
biQ 1d478; biR 1d479; biS 1d47a; biT 1d47b; biU 1d47c; biV 1d47d; biW 1d47e; biX 1d47f; biY 1d480; biZ 1d481;
bia 1d482; bib 1d483; bic 1d484; bid 1d485; bie 1d486; bif 1d487; big 1d488; bih 1d489; bii 1d48a; bij 1d48b;
bik 1d48c; bil 1d48d; bim 1d48e; bin 1d48f; bio 1d490; bip 1d491; biq 1d492; bir 1d493; bis 1d494; bit 1d495;
biu 1d496; biv 1d497; biw 1d498; bix 1d499; biy 1d49a; biz 1d49b; scrA 1d49c; scrC 1d49e; scrD 1d49f; scrG 1d4a2;
scrJ 1d4a5; scrK 1d4a6; scrN 1d4a9; scrO 1d4aa; scrP 1d4ab; scrQ 1d4ac; scrS 1d4ae; scrT 1d4af; scrU 1d4b0;
scrV 1d4b1; scrW 1d4b2; scrX 1d4b3; scrY 1d4b4; scrZ 1d4b5; scra 1d4b6; scrb 1d4b7; scrc 1d4b8; scrd 1d4b9;
scrf 1d4bb; scrh 1d4bd; scri 1d4be; scrj 1d4bf; scrk 1d4c0; scrm 1d4c2; scrn 1d4c3; scrp 1d4c5; scrq 1d4c6;
scrr 1d4c7; scrs 1d4c8; scrt 1d4c9; scru 1d4ca; scrv 1d4cb; scrw 1d4cc; scrx 1d4cd; scry 1d4ce; scrz 1d4cf;
bscrA 1d4d0; bscrB 1d4d1; bscrC 1d4d2; bscrD 1d4d3; bscrE 1d4d4; bscrF 1d4d5; bscrG 1d4d6; bscrH 1d4d7; bscrI 1d4d8;
bscrJ 1d4d9; bscrK 1d4da; bscrL 1d4db; bscrM 1d4dc; bscrN 1d4dd; bscrO 1d4de; bscrP 1d4df; bscrQ 1d4e0; bscrR 1d4e1;
bscrS 1d4e2; bscrT 1d4e3; bscrU 1d4e4; bscrV 1d4e5; bscrW 1d4e6; bscrX 1d4e7; bscrY 1d4e8; bscrZ 1d4e9; bscra 1d4ea;
bscrb 1d4eb; bscrc 1d4ec; bscrd 1d4ed; bscre 1d4ee; bscrf 1d4ef; bscrg 1d4f0; bscrh 1d4f1; bscri 1d4f2; bscrj 1d4f3;
bscrk 1d4f4; bscrl 1d4f5; bscrm 1d4f6; bscrn 1d4f7; bscro 1d4f8; bscrp 1d4f9; bscrq 1d4fa; bscrr 1d4fb; bscrs 1d4fc;
bscrt 1d4fd; bscru 1d4fe; bscrv 1d4ff; bscrw 1d500; bscrx 1d501; bscry 1d502; bscrz 1d503; frakA 1d504; frakB 1d505;
frakD 1d507; frakE 1d508; frakF 1d509; frakG 1d50a; frakI 2111; frakJ 1d50d; frakK 1d50e; frakL 1d50f; frakM 1d510;
frakN 1d511; frakO 1d512; frakP 1d513; frakQ 1d514; frakR 211c; frakS 1d516; frakT 1d517; frakU 1d518; frakV 1d519;
frakW 1d51a; frakX 1d51b; frakY 1d51c; fraka 1d51e; frakb 1d51f; frakc 1d520; frakd 1d521; frake 1d522; frakf 1d523;
frakg 1d524; frakh 1d525; fraki 1d526; frakj 1d527; frakk 1d528; frakl 1d529; frakm 1d52a; frakn 1d52b; frako 1d52c;
frakp 1d52d; frakq 1d52e; frakr 1d52f; fraks 1d530; frakt 1d531; fraku 1d532; frakv 1d533; frakw 1d534; frakx 1d535;
fraky 1d536; frakz 1d537; bbA 1d538; bbB 1d539; bbD 1d53b; bbE 1d53c; bbF 1d53d; bbG 1d53e; bbI 1d540; bbJ 1d541;
bbK 1d542; bbL 1d543; bbM 1d544; bbO 1d546; bbS 1d54a; bbT 1d54b; bbU 1d54c; bbV 1d54d; bbW 1d54e; bbX 1d54f;
bbY 1d550; bba 1d552; bbb 1d553; bbc 1d554; bbd 1d555; bbe 1d556; bbf 1d557; bbg 1d558; bbh 1d559; bbi 1d55a;
bbj 1d55b; bbk 1d55c; bbl 1d55d; bbm 1d55e; bbn 1d55f; bbo 1d560; bbp 1d561; bbq 1d562; bbr 1d563; bbs 1d564;
bbt 1d565; bbu 1d566; bbv 1d567; bbw 1d568; bbx 1d569; bby 1d56a; bbz 1d56b; bfrakA 1d56c; bfrakB 1d56d;
bfrakC 1d56e; bfrakD 1d56f; bfrakE 1d570; bfrakF 1d571; bfrakG 1d572; bfrakH 1d573; bfrakI 1d574; bfrakJ 1d575;
bfrakK 1d576; bfrakL 1d577; bfrakM 1d578; bfrakN 1d579; bfrakO 1d57a; bfrakP 1d57b; bfrakQ 1d57c; bfrakR 1d57d;
bfrakS 1d57e; bfrakT 1d57f; bfrakU 1d580; bfrakV 1d581; bfrakW 1d582; bfrakX 1d583; bfrakY 1d584; bfrakZ 1d585;
bfraka 1d586; bfrakb 1d587; bfrakc 1d588; bfrakd 1d589; bfrake 1d58a; bfrakf 1d58b; bfrakg 1d58c; bfrakh 1d58d;
bfraki 1d58e; bfrakj 1d58f; bfrakk 1d590; bfrakl 1d591; bfrakm 1d592; bfrakn 1d593; bfrako 1d594; bfrakp 1d595;
bfrakq 1d596; bfrakr 1d597; bfraks 1d598; bfrakt 1d599; bfraku 1d59a; bfrakv 1d59b; bfrakw 1d59c; bfrakx 1d59d;
bfraky 1d59e; bfrakz 1d59f; sansA 1d5a0; sansB 1d5a1; sansC 1d5a2; sansD 1d5a3; sansE 1d5a4; sansF 1d5a5;
sansG 1d5a6; sansH 1d5a7; sansI 1d5a8; sansJ 1d5a9; sansK 1d5aa; sansL 1d5ab; sansM 1d5ac; sansN 1d5ad; sansO 1d5ae;
sansP 1d5af; sansQ 1d5b0; sansR 1d5b1; sansS 1d5b2; sansT 1d5b3; sansU 1d5b4; sansV 1d5b5; sansW 1d5b6; sansX 1d5b7;
sansY 1d5b8; sansZ 1d5b9; sansa 1d5ba; sansb 1d5bb; sansc 1d5bc; sansd 1d5bd; sanse 1d5be; sansf 1d5bf; sansg 1d5c0;
sansh 1d5c1; sansi 1d5c2; sansj 1d5c3; sansk 1d5c4; sansl 1d5c5; sansm 1d5c6; sansn 1d5c7; sanso 1d5c8; sansp 1d5c9;
sansq 1d5ca; sansr 1d5cb; sanss 1d5cc; sanst 1d5cd; sansu 1d5ce; sansv 1d5cf; sansw 1d5d0; sansx 1d5d1; sansy 1d5d2;
sansz 1d5d3; bsansA 1d5d4; bsansB 1d5d5; bsansC 1d5d6; bsansD 1d5d7; bsansE 1d5d8; bsansF 1d5d9; bsansG 1d5da;
bsansH 1d5db; bsansI 1d5dc; bsansJ 1d5dd; bsansK 1d5de; bsansL 1d5df; bsansM 1d5e0; bsansN 1d5e1; bsansO 1d5e2;
bsansP 1d5e3; bsansQ 1d5e4; bsansR 1d5e5; bsansS 1d5e6; bsansT 1d5e7; bsansU 1d5e8; bsansV 1d5e9; bsansW 1d5ea;
bsansX 1d5eb; bsansY 1d5ec; bsansZ 1d5ed; bsansa 1d5ee; bsansb 1d5ef; bsansc 1d5f0; bsansd 1d5f1; bsanse 1d5f2;
bsansf 1d5f3; bsansg 1d5f4; bsansh 1d5f5; bsansi 1d5f6; bsansj 1d5f7; bsansk 1d5f8; bsansl 1d5f9; bsansm 1d5fa;
bsansn 1d5fb; bsanso 1d5fc; bsansp 1d5fd; bsansq 1d5fe; bsansr 1d5ff; bsanss 1d600; bsanst 1d601; bsansu 1d602;
bsansv 1d603; bsansw 1d604; bsansx 1d605; bsansy 1d606; bsansz 1d607; isansA 1d608; isansB 1d609; isansC 1d60a;
isansD 1d60b; isansE 1d60c; isansF 1d60d; isansG 1d60e; isansH 1d60f; isansI 1d610; isansJ 1d611; isansK 1d612;
isansL 1d613; isansM 1d614; isansN 1d615; isansO 1d616; isansP 1d617; isansQ 1d618; isansR 1d619; isansS 1d61a;
isansT 1d61b; isansU 1d61c; isansV 1d61d; isansW 1d61e; isansX 1d61f; isansY 1d620; isansZ 1d621; isansa 1d622;
isansb 1d623; isansc 1d624; isansd 1d625; isanse 1d626; isansf 1d627; isansg 1d628; isansh 1d629; isansi 1d62a;
isansj 1d62b; isansk 1d62c; isansl 1d62d; isansm 1d62e; isansn 1d62f; isanso 1d630; isansp 1d631; isansq 1d632;
isansr 1d633; isanss 1d634; isanst 1d635; isansu 1d636; isansv 1d637; isansw 1d638; isansx 1d639; isansy 1d63a;
isansz 1d63b; bisansA 1d63c; bisansB 1d63d; bisansC 1d63e; bisansD 1d63f; bisansE 1d640; bisansF 1d641;
bisansG 1d642; bisansH 1d643; bisansI 1d644; bisansJ 1d645; bisansK 1d646; bisansL 1d647; bisansM 1d648;
bisansN 1d649; bisansO 1d64a; bisansP 1d64b; bisansQ 1d64c; bisansR 1d64d; bisansS 1d64e; bisansT 1d64f;
bisansU 1d650; bisansV 1d651; bisansW 1d652; bisansX 1d653; bisansY 1d654; bisansZ 1d655; bisansa 1d656;
bisansb 1d657; bisansc 1d658; bisansd 1d659; bisanse 1d65a; bisansf 1d65b; bisansg 1d65c; bisansh 1d65d;
bisansi 1d65e; bisansj 1d65f; bisansk 1d660; bisansl 1d661; bisansm 1d662; bisansn 1d663; bisanso 1d664;
bisansp 1d665; bisansq 1d666; bisansr 1d667; bisanss 1d668; bisanst 1d669; bisansu 1d66a; bisansv 1d66b;
bisansw 1d66c; bisansx 1d66d; bisansy 1d66e; bisansz 1d66f; ttA 1d670; ttB 1d671; ttC 1d672; ttD 1d673; ttE 1d674;
ttF 1d675; ttG 1d676; ttH 1d677; ttI 1d678; ttJ 1d679; ttK 1d67a; ttL 1d67b; ttM 1d67c; ttN 1d67d; ttO 1d67e;
ttP 1d67f; ttQ 1d680; ttR 1d681; ttS 1d682; ttT 1d683; ttU 1d684; ttV 1d685; ttW 1d686; ttX 1d687; ttY 1d688;
ttZ 1d689; tta 1d68a; ttb 1d68b; ttc 1d68c; ttd 1d68d; tte 1d68e; ttf 1d68f; ttg 1d690; tth 1d691; tti 1d692;
ttj 1d693; ttk 1d694; ttl 1d695; ttm 1d696; ttn 1d697; tto 1d698; ttp 1d699; ttq 1d69a; ttr 1d69b; tts 1d69c;
ttt 1d69d; ttu 1d69e; ttv 1d69f; ttw 1d6a0; ttx 1d6a1; tty 1d6a2; ttz 1d6a3; bfAlpha 1d6a8; bfBeta 1d6a9;
bfGamma 1d6aa; bfDelta 1d6ab; bfEpsilon 1d6ac; bfZeta 1d6ad; bfEta 1d6ae; bfTheta 1d6af; bfIota 1d6b0; bfKappa 1d6b1;
bfLambda 1d6b2; bfMu 1d6b3; bfNu 1d6b4; bfXi 1d6b5; bfOmicron 1d6b6; bfPi 1d6b7; bfRho 1d6b8; bfvarTheta 1d6b9;
bfSigma 1d6ba; bfTau 1d6bb; bfUpsilon 1d6bc; bfPhi 1d6bd; bfChi 1d6be; bfPsi 1d6bf; bfOmega 1d6c0; bfalpha 1d6c2;
bfbeta 1d6c3; bfgamma 1d6c4; bfdelta 1d6c5; bfvarepsilon 1d6c6; bfzeta 1d6c7; bfeta 1d6c8; bftheta 1d6c9;
bfiota 1d6ca; bfkappa 1d6cb; bflambda 1d6cc; bfmu 1d6cd; bfnu 1d6ce; bfxi 1d6cf; bfomicron 1d6d0; bfpi 1d6d1;
bfrho 1d6d2; bfvarsigma 1d6d3; bfsigma 1d6d4; bftau 1d6d5; bfupsilon 1d6d6; bfvarphi 1d6d7; bfchi 1d6d8; bfpsi 1d6d9;
bfomega 1d6da; bfepsilon 1d6dc; bfvartheta 1d6dd; bfvarkappa 1d6de; bfphi 1d6df; bfvarrho 1d6e0; bfvarpi 1d6e1;
itAlpha 1d6e2; itBeta 1d6e3; itGamma 1d6e4; itDelta 1d6e5; itEpsilon 1d6e6; itZeta 1d6e7; itEta 1d6e8; itTheta 1d6e9;
itIota 1d6ea; itKappa 1d6eb; itLambda 1d6ec; itMu 1d6ed; itNu 1d6ee; itXi 1d6ef; itOmicron 1d6f0; itPi 1d6f1;
itRho 1d6f2; itvarTheta 1d6f3; itSigma 1d6f4; itTau 1d6f5; itUpsilon 1d6f6; itPhi 1d6f7; itChi 1d6f8; itPsi 1d6f9;
itOmega 1d6fa; italpha 1d6fc; itbeta 1d6fd; itgamma 1d6fe; itdelta 1d6ff; itvarepsilon 1d700; itzeta 1d701;
iteta 1d702; ittheta 1d703; itiota 1d704; itkappa 1d705; itlambda 1d706; itmu 1d707; itnu 1d708; itxi 1d709;
itomicron 1d70a; itpi 1d70b; itrho 1d70c; itvarsigma 1d70d; itsigma 1d70e; ittau 1d70f; itupsilon 1d710;
itvarphi 1d711; itchi 1d712; itpsi 1d713; itomega 1d714; itepsilon 1d716; itvartheta 1d717; itvarkappa 1d718;
itphi 1d719; itvarrho 1d71a; itvarpi 1d71b; biAlpha 1d71c; biBeta 1d71d; biGamma 1d71e; biDelta 1d71f;
biEpsilon 1d720; biZeta 1d721; biEta 1d722; biTheta 1d723; biIota 1d724; biKappa 1d725; biLambda 1d726; biMu 1d727;
biNu 1d728; biXi 1d729; biOmicron 1d72a; biPi 1d72b; biRho 1d72c; bivarTheta 1d72d; biSigma 1d72e; biTau 1d72f;
biUpsilon 1d730; biPhi 1d731; biChi 1d732; biPsi 1d733; biOmega 1d734; bialpha 1d736; bibeta 1d737; bigamma 1d738;
bidelta 1d739; bivarepsilon 1d73a; bizeta 1d73b; bieta 1d73c; bitheta 1d73d; biiota 1d73e; bikappa 1d73f;
bilambda 1d740; bimu 1d741; binu 1d742; bixi 1d743; biomicron 1d744; bipi 1d745; birho 1d746; bivarsigma 1d747;
bisigma 1d748; bitau 1d749; biupsilon 1d74a; bivarphi 1d74b; bichi 1d74c; bipsi 1d74d; biomega 1d74e;
biepsilon 1d750; bivartheta 1d751; bivarkappa 1d752; biphi 1d753; bivarrho 1d754; bivarpi 1d755; bsansAlpha 1d756;
bsansBeta 1d757; bsansGamma 1d758; bsansDelta 1d759; bsansEpsilon 1d75a; bsansZeta 1d75b; bsansEta 1d75c;
bsansTheta 1d75d; bsansIota 1d75e; bsansKappa 1d75f; bsansLambda 1d760; bsansMu 1d761; bsansNu 1d762; bsansXi 1d763;
bsansOmicron 1d764; bsansPi 1d765; bsansRho 1d766; bsansvarTheta 1d767; bsansSigma 1d768; bsansTau 1d769;
bsansUpsilon 1d76a; bsansPhi 1d76b; bsansChi 1d76c; bsansPsi 1d76d; bsansOmega 1d76e; bsansalpha 1d770;
bsansbeta 1d771; bsansgamma 1d772; bsansdelta 1d773; bsansvarepsilon 1d774; bsanszeta 1d775; bsanseta 1d776;
bsanstheta 1d777; bsansiota 1d778; bsanskappa 1d779; bsanslambda 1d77a; bsansmu 1d77b; bsansnu 1d77c; bsansxi 1d77d;
bsansomicron 1d77e; bsanspi 1d77f; bsansrho 1d780; bsansvarsigma 1d781; bsanssigma 1d782; bsanstau 1d783;
bsansupsilon 1d784; bsansvarphi 1d785; bsanschi 1d786; bsanspsi 1d787; bsansomega 1d788; bsansepsilon 1d78a;
bsansvartheta 1d78b; bsansvarkappa 1d78c; bsansphi 1d78d; bsansvarrho 1d78e; bsansvarpi 1d78f; bisansAlpha 1d790;
bisansBeta 1d791; bisansGamma 1d792; bisansDelta 1d793; bisansEpsilon 1d794; bisansZeta 1d795; bisansEta 1d796;
bisansTheta 1d797; bisansIota 1d798; bisansKappa 1d799; bisansLambda 1d79a; bisansMu 1d79b; bisansNu 1d79c;
bisansXi 1d79d; bisansOmicron 1d79e; bisansPi 1d79f; bisansRho 1d7a0; bisansvarTheta 1d7a1; bisansSigma 1d7a2;
bisansTau 1d7a3; bisansUpsilon 1d7a4; bisansPhi 1d7a5; bisansChi 1d7a6; bisansPsi 1d7a7; bisansOmega 1d7a8;
bisansalpha 1d7aa; bisansbeta 1d7ab; bisansgamma 1d7ac; bisansdelta 1d7ad; bisansvarepsilon 1d7ae; bisanszeta 1d7af;
bisanseta 1d7b0; bisanstheta 1d7b1; bisansiota 1d7b2; bisanskappa 1d7b3; bisanslambda 1d7b4; bisansmu 1d7b5;
bisansnu 1d7b6; bisansxi 1d7b7; bisansomicron 1d7b8; bisanspi 1d7b9; bisansrho 1d7ba; bisansvarsigma 1d7bb;
bisanssigma 1d7bc; bisanstau 1d7bd; bisansupsilon 1d7be; bisansvarphi 1d7bf; bisanschi 1d7c0; bisanspsi 1d7c1;
bisansomega 1d7c2; bisansepsilon 1d7c4; bisansvartheta 1d7c5; bisansvarkappa 1d7c6; bisansphi 1d7c7;
bisansvarrho 1d7c8; bisansvarpi 1d7c9; bfzero 1d7ce; bfone 1d7cf; bftwo 1d7d0; bfthree 1d7d1; bffour 1d7d2;
bffive 1d7d3; bfsix 1d7d4; bfseven 1d7d5; bfeight 1d7d6; bfnine 1d7d7; bbzero 1d7d8; bbone 1d7d9; bbtwo 1d7da;
bbthree 1d7db; bbfour 1d7dc; bbfive 1d7dd; bbsix 1d7de; bbseven 1d7df; bbeight 1d7e0; bbnine 1d7e1; sanszero 1d7e2;
sansone 1d7e3; sanstwo 1d7e4; sansthree 1d7e5; sansfour 1d7e6; sansfive 1d7e7; sanssix 1d7e8; sansseven 1d7e9;
sanseight 1d7ea; sansnine 1d7eb; bsanszero 1d7ec; bsansone 1d7ed; bsanstwo 1d7ee; bsansthree 1d7ef; bsansfour 1d7f0;
bsansfive 1d7f1; bsanssix 1d7f2; bsansseven 1d7f3; bsanseight 1d7f4; bsansnine 1d7f5; ttzero 1d7f6; ttone 1d7f7;
tttwo 1d7f8; ttthree 1d7f9; ttfour 1d7fa; ttfive 1d7fb; ttsix 1d7fc; ttseven 1d7fd; tteight 1d7fe; ttnine 1d7ff;
underbar 332; underleftrightarrow 34d
"""
