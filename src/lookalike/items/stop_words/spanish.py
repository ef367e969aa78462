"""Spanish function words by class."""

CLASSES = {
    "articles": "el la los las lo un una unos unas al del",
    "demonstratives": """
        este esta esto estos estas ese esa eso esos esas aquel aquella aquello aquellos aquellas éste ésta éstos éstas
        ése ésa ésos ésas aquél aquélla""",
    "quantifiers": """
        algo alguien algún alguno alguna algunos algunas nada nadie ningún ninguno ninguna cada cualquier cualquiera
        cualesquiera todo toda todos todas otro otra otros otras mismo misma mismos mismas mucho mucha muchos muchas
        poco poca pocos pocas varios varias demás ambos ambas sendos tal tales tanto tanta tantos tantas tan demasiado
        demasiada demasiados demasiadas bastante bastantes más menos mitad uno""",
    "personal pronouns": """
        yo me mí conmigo tú te ti contigo él ella ello ellos ellas usted ustedes nosotros nosotras nos vosotros
        vosotras os se sí consigo le les vos""",
    "possessives": """
        mi mis mío mía míos mías tu tus tuyo tuya tuyos tuyas su sus suyo suya suyos suyas nuestro nuestra nuestros
        nuestras vuestro vuestra vuestros vuestras""",
    "other pronouns": """
        que qué quien quienes quién quiénes cual cuales cuál cuáles cuyo cuya cuyos cuyas quienquiera""",
    "prepositions": """
        a ante bajo cabe con contra de desde durante en entre hacia hasta mediante para por según sin so sobre tras
        versus vía excepto salvo incluso cerca lejos junto respecto""",
    "conjunctions": """
        y e o u ni pero mas sino porque pues aunque si como cuando mientras donde conque luego sea""",
    "to be": """
        ser soy eres es somos sois son era eras éramos erais eran fui fuiste fue fuimos fuisteis fueron seré será
        serán sería serían sea seas seamos sean fuera fueran fuese fuesen siendo sido estar estoy estás está estamos
        estáis están estaba estabas estábamos estaban estuve estuvo estuvieron estará estarán estaría esté estén
        estuviera estuvieran estando estado""",
    "to have": """
        haber he has ha hemos habéis han había habías habíamos habían hube hubo hubieron habré habrá habrán habría
        habrían haya hayas hayamos hayan hubiera hubieran hubiese hubiesen habiendo habido hay tener tengo tienes
        tiene tenemos tenéis tienen tenía tenían tuvo tuvieron tendrá tendrán tendría""",
    "auxiliaries": """
        puedo puedes puede podemos pueden podía podían pudo pudieron podrá podrán podría podrían poder debo debe
        debemos deben debía debían deberá deberán debería deberían deber va van vamos iba iban ir suele suelen quiere
        quieren""",
    "adverbs of degree": """
        muy casi apenas sólo solo solamente también tampoco aun aún ya no sí quizá quizás acaso así bien además""",
    "adverbs of time": """
        ahora antes después entonces luego siempre nunca jamás todavía pronto tarde temprano mientras cuándo ayer
        anoche anteayer""",
    "adverbs of place": """
        aquí ahí allí allá acá donde dónde adonde adónde arriba abajo adelante atrás delante detrás dentro fuera
        encima debajo alrededor enfrente""",
    "adverbs that link": """
        embargo obstante asimismo cómo cuánto cuánta cuántos cuántas cuanto cuanta cuantos cuantas""",
}
